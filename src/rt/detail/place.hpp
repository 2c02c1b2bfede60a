// Where a task goes that is made now and submitted later: a continuation.
//
// Thread safety: values. Cost: home_place one call to make; to submit, a comparison more than submit_task(), and a look
// at the list of runtimes when another runtime's worker, or a foreign thread, submits.
#pragma once

#include "rt/any_executor.hpp"

namespace plx::detail {

class scheduler;

/// The scheduler whose worker the caller is; null on a foreign thread.
scheduler* home_of_caller() noexcept;
/// Submits to `home`. False, and nothing happens, when it has ended.
bool submit_to(scheduler* home, task* t);

/// The runtime whose task made the place. A foreign thread's, or when that runtime has ended: the one of who submits.
class home_place {
 public:
  home_place() noexcept : home_(home_of_caller()) {}
  void submit(task* t) const;

 private:
  scheduler* home_;
};

/// In the frame of who submits.
struct completer_place {
  void submit(task* t) const {
    if (origins_wanted()) [[unlikely]]
      note_going_on();
    t->run(t, run_mode::taken_back);
  }
};

template <any_executor E>
struct executor_place {
  void submit(task* t) const { execute_on(executor, t); }
  E executor;
};

}  // namespace plx::detail
