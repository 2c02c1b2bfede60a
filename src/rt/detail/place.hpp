// Where a task goes that is made now and submitted later: a continuation.
//
// Thread safety: values. Cost: home_place one call to make; to submit, a comparison more than submit_task(), and a
// spinlock of that runtime's when another runtime's worker, or a foreign thread, submits.
#pragma once

#include "rt/any_executor.hpp"

namespace plx::detail {

class scheduler;

/// By which a scheduler is known to whatever may outlive it. Never freed: 24 bytes per runtime of the process.
struct home_link;

/// The scheduler whose worker the caller is; null on a foreign thread.
home_link* home_of_caller() noexcept;
/// Submits to `home`. False, and nothing happens, when it has ended.
bool submit_to(home_link& home, task* t);
/// Submits what was prepared earlier: to `home` (null: none); when that has ended, to the caller's scheduler, or to the
/// oldest; without any the caller runs `t` here. For continuations: whoever completes a future is not to fail.
void submit_late(home_link* home, task* t);
/// Runs `t` in the caller's frame.
void run_here(task* t);

/// The runtime whose task made the place. A foreign thread's, or when that runtime has ended: the one of who submits.
class home_place {
 public:
  home_place() noexcept : home_(home_of_caller()) {}
  void submit(task* t) const { submit_late(home_, t); }

 private:
  home_link* home_;
};

/// In the frame of who submits.
struct completer_place {
  void submit(task* t) const { run_here(t); }
};

template <any_executor E>
struct executor_place {
  void submit(task* t) const {
    if constexpr (requires { executor.execute_late(t); })
      executor.execute_late(t);
    else
      execute_on(executor, t);
  }
  E executor;
};

}  // namespace plx::detail
