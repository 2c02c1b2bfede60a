// A trace for another measurement of the running program.
#include <unistd.h>

#include <exception>
#include <mutex>

#include "base/log.hpp"
#include "probe/record/recorder_detail.hpp"

namespace plx::probe {

bool recorder::lend_trace(trace_sink& sink, std::size_t ring_records, unsigned locality, unsigned localities) {
  state& s = *state_;
  const std::lock_guard use(s.use_mutex);
  if (s.lent || s.sink_in_use || s.memory_in_use) return false;
  s.forget();  // what workers recorded as an earlier trace ended
  {
    const std::lock_guard draining(s.drain_mutex);
    s.sink = &sink;
    s.lent = true;
    s.lent_by = ::getpid();
    s.begin_sink(locality, localities);
  }
  s.set_tracing(true, ring_records, 1);
  return true;
}

bool recorder::drain_lent_trace() {
  const std::lock_guard draining(state_->drain_mutex);
  if (!state_->lent) return false;
  state_->drain_to_sink(false);
  return true;
}

bool recorder::end_lent_trace() noexcept {
  const std::lock_guard use(state_->use_mutex);
  return state_->end_lent();
}

bool recorder::state::end_lent() noexcept {
  if (!lent) return false;
  try {
    set_tracing(false, 0, 1);
    const std::lock_guard draining(drain_mutex);
    if (!of_parent()) drain_to_sink(true);
  } catch (const std::exception& x) {
    log_error("the last records of a trace are lost: {}", x.what());
  }
  const std::lock_guard draining(drain_mutex);
  sink = nullptr;
  lent = false;
  left_over = true;
  const std::lock_guard lock(mutex);
  lost_lent += lost_locked() - lost_before;
  return true;
}

bool recorder::state::of_parent() const noexcept { return lent && ::getpid() != lent_by; }

void recorder::state::take_back() noexcept {
  end_lent();
  if (!left_over || sink_in_use) return;
  left_over = false;
  forget();
}

}  // namespace plx::probe
