#include "rt/thread.hpp"

#include "rt/detail/scheduler.hpp"
#include "rt/detail/wait.hpp"

namespace plx {

unsigned thread::hardware_concurrency() noexcept { return detail::current_scheduler().worker_count(); }

namespace detail {

void yield_now() { yield_task(); }

void sleep_for_seconds(double s) {
  if (s > 0) sleep_until_ticks(deadline_in(s));
}

const void* current_task_id() noexcept {
  if (const worker* w = this_worker()) return w->task_id;
  thread_local const char mine = 0;
  return &mine;
}

}  // namespace detail
}  // namespace plx
