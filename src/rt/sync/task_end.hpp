// Actions at the end of the running task: results and notifications "at thread exit".
//
// Each task has a list of actions, newest first. A call that runs inline in its waiter's frame owns the entries that
// were added since the call began. A thread outside the runtime has a list, too; its actions run when it exits. Thread
// safety: a list belongs to one task or thread. Cost: one relaxed load per task while no action exists.
// Example: thread_exit_test.cpp.
#pragma once

#include <atomic>

namespace plx::detail {

/// An action in the list; `run` also frees it.
struct at_task_end {
  at_task_end* next = nullptr;
  void (*run)(at_task_end*) noexcept = nullptr;
};

/// Whether any task of the process has ever had an action.
inline constinit std::atomic<bool> task_end_used{false};

/// Adds an action to the list of the running task, or of the calling thread if it runs none.
void run_at_task_end(at_task_end& action) noexcept;
/// The newest action of the running task or of the calling thread.
at_task_end* newest_at_task_end() noexcept;
/// Runs the actions that are newer than `older`.
void run_task_end(at_task_end* older) noexcept;

/// A call that ends as a task does: its actions run at its end.
class task_frame {
 public:
  // relaxed: an action of this call is added by the task itself.
  task_frame() noexcept : older_(task_end_used.load(std::memory_order_relaxed) ? newest_at_task_end() : nullptr) {}
  void end() const noexcept {
    if (task_end_used.load(std::memory_order_relaxed)) [[unlikely]]
      run_task_end(older_);
  }

 private:
  at_task_end* older_;
};

}  // namespace plx::detail
