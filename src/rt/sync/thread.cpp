#include "rt/thread.hpp"

#include <system_error>

#include "rt/core/scheduler.hpp"
#include "rt/core/topology.hpp"
#include "rt/sync/wait.hpp"

namespace plx {

unsigned thread::hardware_concurrency() noexcept {
  if (const detail::scheduler* s = detail::find_current_scheduler()) return s->worker_count();
  try {
    return detail::default_worker_count(detail::allowed_cores().size());
  } catch (...) {
    return 0;  // as std::thread does if the number is unknown
  }
}

void thread::check_joinable(bool by_another) const {
  if (!joinable()) throw std::system_error(std::make_error_code(std::errc::invalid_argument));
  if (by_another && id_ == this_thread::get_id())
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur));
}

namespace detail {

void yield_now() { yield_task(); }

const void* current_task_id() noexcept {
  if (const worker* w = this_worker()) return w->task_id;
  thread_local const char mine = 0;
  return &mine;
}

}  // namespace detail
}  // namespace plx
