// How operating-system threads block: in a parker, and in the slow path of a spinlock.
#include "rt/core/parker.hpp"

#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "rt/core/spinlock.hpp"

namespace plx::detail {

void spinlock::wait_until_free() noexcept {
  for (unsigned i = 0; locked_.load(std::memory_order_relaxed); ++i) {
    if (i < 100)
      cpu_relax();
    else
      sched_yield();
  }
}

struct parker::state {
  std::mutex mutex;
  std::condition_variable woken;
  bool token = false;
};

parker::parker() : state_(std::make_unique<state>()) {}
parker::~parker() = default;

void parker::wait() {
  std::unique_lock lock(state_->mutex);
  state_->woken.wait(lock, [&] { return state_->token; });
  state_->token = false;
}

bool parker::wait_for(std::int64_t nanoseconds) {
  std::unique_lock lock(state_->mutex);
  const bool woken = state_->woken.wait_for(lock, std::chrono::nanoseconds(nanoseconds), [&] { return state_->token; });
  state_->token = false;
  return woken;
}

void parker::wake() {
  // Notified under the lock: the waiter may destroy the parker as soon as it sees the token.
  std::lock_guard lock(state_->mutex);
  state_->token = true;
  state_->woken.notify_one();
}

parker& this_thread_parker() {
  thread_local parker mine;
  return mine;
}

}  // namespace plx::detail
