#include "probe/counters/periodic_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/process.hpp"

namespace plx::probe {

using steady = std::chrono::steady_clock;

namespace {
double thread_seconds() {
  std::timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

struct periodic_thread::state {
  struct entry {
    std::uint64_t id;
    steady::duration period;
    steady::time_point next;
    std::shared_ptr<task> function;
  };

  std::mutex mutex;
  std::condition_variable changed;  // an entry was added, or the object is being destroyed
  std::condition_variable idle;     // no function is running
  std::vector<entry> entries;
  std::uint64_t last_id = 0;
  std::uint64_t running = 0;  // the id of the function in progress, 0: none
  bool end = false;
  double busy_s = 0;
  const char* thread_name = "";
  std::thread thread;  // created with the first entry

  void loop();
  void call_due(std::unique_lock<std::mutex>& lock, entry& e);
};

void periodic_thread::state::call_due(std::unique_lock<std::mutex>& lock, entry& e) {
  const std::uint64_t id = running = e.id;
  const std::shared_ptr<task> function = e.function;
  const double begin_s = thread_seconds();
  lock.unlock();  // `e` may be destroyed from here on
  bool failed = true;
  try {
    function->call();
    failed = false;
  } catch (const std::exception& x) {
    log_warning("a periodic measurement failed and is disabled: {}", x.what());
  } catch (...) {
    log_warning("a periodic measurement failed and is disabled: it threw an exception that is not a std::exception");
  }
  lock.lock();
  busy_s += thread_seconds() - begin_s;
  running = 0;
  idle.notify_all();
  const auto it = std::find_if(entries.begin(), entries.end(), [&](const entry& x) { return x.id == id; });
  if (it == entries.end()) return;
  if (failed)
    entries.erase(it);
  else
    it->next = std::max(it->next + it->period, steady::now());
}

void periodic_thread::state::loop() {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), thread_name);
#endif
  std::unique_lock lock(mutex);
  while (!end) {
    const auto first = std::min_element(entries.begin(), entries.end(),
                                        [](const entry& a, const entry& b) { return a.next < b.next; });
    if (first == entries.end())
      changed.wait(lock);
    else if (first->next > steady::now())
      changed.wait_until(lock, steady::time_point(first->next));
    else
      call_due(lock, *first);
  }
}

periodic_thread::periodic_thread(const char* thread_name) : state_(std::make_unique<state>()) {
  state_->thread_name = thread_name;
}

periodic_thread::~periodic_thread() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->end = true;
    state_->changed.notify_all();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

std::uint64_t periodic_thread::add(double period_s, std::unique_ptr<task> t) {
  PLX_ASSERT(period_s > 0, period_s);
  const auto period =
      std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(std::min(period_s, 1e8)));
  const std::lock_guard lock(state_->mutex);
  if (!state_->thread.joinable()) {
    // Signals are for the program's threads: one may wait in sigwait() while all others block them.
    const no_signals here;
    state_->thread = std::thread([s = state_.get()] { s->loop(); });
  }
  state_->entries.push_back({++state_->last_id, period, steady::now() + period, std::move(t)});
  state_->changed.notify_all();
  return state_->last_id;
}

double periodic_thread::busy_s() const {
  const std::lock_guard lock(state_->mutex);
  return state_->busy_s;
}

void periodic_thread::remove(std::uint64_t id) {
  std::unique_lock lock(state_->mutex);
  std::erase_if(state_->entries, [&](const state::entry& e) { return e.id == id; });
  if (std::this_thread::get_id() == state_->thread.get_id()) return;
  state_->idle.wait(lock, [&] { return state_->running != id; });
}

}  // namespace plx::probe
