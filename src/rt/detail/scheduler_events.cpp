// Timers and pollers.
#include <algorithm>

#include "base/assert.hpp"
#include "probe/recorder.hpp"
#include "rt/detail/scheduler.hpp"

namespace plx::detail {

ticks scheduler::earliest_deadline() const noexcept {
  ticks earliest = timer_queue::never;
  for (const auto& w : workers_) earliest = std::min(earliest, w->timers.next_deadline());
  return earliest;
}

unsigned scheduler::fire_timers(ticks now) {
  unsigned fired = 0;
  for (const auto& w : workers_)
    if (w->timers.next_deadline() <= now) fired += w->timers.fire_due(now);
  return fired;
}

// A worker is awake now, but may be busy when the time comes: a sleeper has to watch the new deadline. Either it sees
// it before it sleeps, or it is seen here with the later deadline it goes by (pairs with heavy_fence()).
void scheduler::deadline_changed(ticks deadline) noexcept {
  full_fence();
  if (n_sleeping_.load(std::memory_order_relaxed) != 0 && deadline < next_wake_.load(std::memory_order_relaxed))
    wake_one();
}

std::uint64_t scheduler::add_poller(poll_function f, void* arg) {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || !caller->polling) && "a poller must not add or remove pollers");
  std::uint64_t id = 0;
  {
    spin_guard guard(poll_lock_);
    id = next_poller_id_++;
    pollers_.push_back({id, f, arg});
    has_pollers_.store(true, std::memory_order_relaxed);
    polls_pending_.store(true, std::memory_order_relaxed);  // who goes to sleep just now asks it first
  }
  full_fence();
  wake_one();  // somebody has to ask it for the first time
  return id;
}

void scheduler::remove_poller(std::uint64_t id) {
  const worker* caller = this_worker();
  PLX_ASSERT((caller == nullptr || !caller->polling) && "a poller must not add or remove pollers");
  spin_guard guard(poll_lock_);
  std::erase_if(pollers_, [id](const poller& p) { return p.id == id; });
  has_pollers_.store(!pollers_.empty(), std::memory_order_relaxed);
  if (pollers_.empty()) polls_pending_.store(false, std::memory_order_relaxed);
}

bool scheduler::run_pollers(worker& w) {
  if (!has_pollers_.load(std::memory_order_relaxed) || !poll_lock_.try_lock()) return false;
  const ticks begin = now_ticks();
  bool progressed = false, pending = false;
  w.polling = true;
  for (const poller& p : pollers_) {
    const poll_result r = p.function(p.arg);
    progressed |= r == poll_result::progressed;
    pending |= r != poll_result::idle;
  }
  w.polling = false;
  polls_pending_.store(pending, std::memory_order_relaxed);
  poll_lock_.unlock();
  w.log->background(now_ticks() - begin);
  // This worker may be busy for long: an idle one has to go on asking.
  if (pending && n_sleeping_.load(std::memory_order_relaxed) != 0 &&
      n_searching_.load(std::memory_order_relaxed) == 0 && sleepers_miss_something())
    wake_one();
  return progressed;
}

}  // namespace plx::detail
