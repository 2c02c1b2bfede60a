// The executor concept: anything that accepts a call and executes it, now or later, on any thread.
//
//   struct my_executor {
//     void post(auto f) const;   // calls f() once, now or later; does not wait, does not throw
//     bool operator==(const my_executor&) const = default;
//   };
//   plx::async(my_executor{}, f).get();   // also: then, dataflow, task_group::run, co_await plx::schedule(ex)
//
// Thread safety: post() is called by any thread. Cost: what post() costs. Example: executor_test.cpp.
#pragma once

#include <concepts>
#include <type_traits>

#include "rt/core/task.hpp"
#include "rt/measure/origin.hpp"

namespace plx {

/// One prepared call of the runtime: two words, trivially copyable. Requires: called exactly once.
class work {
 public:
  explicit work(detail::task* t) noexcept : task_(t) {}
  void operator()() const {
    if (task_->from != nullptr) detail::forget_origin(*task_);
    task_->run(task_, detail::run_mode::scheduled);
    if (detail::origins_wanted()) detail::note_going_on();  // perhaps in the frame of a task
  }

 private:
  detail::task* task_;
};

/// post(w) causes w() to be called once. post() must not wait for the call and must not throw: continuations are posted
/// by the thread that completes a future. Calling w() within post() is allowed.
template <class E>
concept any_executor = std::copy_constructible<E> && std::equality_comparable<E> && requires(const E& ex, work w) {
  ex.post(w);
};

namespace detail {

/// Passes `t` to an executor: directly to one of the runtime, as a `work` object to a user-defined one.
template <class E>
void execute_on(const E& ex, task* t) {
  if constexpr (requires { ex.execute(t); })
    ex.execute(t);
  else
    ex.post(work(t));
}

/// The name, key and placement that an executor gives its tasks, if any.
template <class E>
task_info info_of(const E& ex) {
  if constexpr (requires { ex.info(); })
    return ex.info();
  else
    return {};
}

template <class E>
inline constexpr bool is_executor = any_executor<std::remove_cvref_t<E>>;

}  // namespace detail
}  // namespace plx

namespace plx::detail {

// Where a task that is created now and submitted later (a continuation) will run.
//
// Thread safety: values. Cost: home_place one call to create; to submit, one comparison more than submit_task(), and a
// spinlock of the target runtime if another runtime's worker, or an external thread, submits.

class scheduler;

/// Identifies a scheduler to objects that may outlive it. Never freed: 24 bytes per runtime of the process.
struct home_link;

/// The scheduler of the calling worker; null on an external thread.
home_link* home_of_caller() noexcept;
/// Submits to `home`. Returns false, without effect, if that runtime has ended.
bool submit_to(home_link& home, task* t);
/// Submits a task that was prepared earlier: to `home` (null: none); if that runtime has ended, to the caller's
/// scheduler, or to the oldest; without any runtime, the caller runs `t` inline. For continuations: completing a future
/// must not fail.
void submit_late(home_link* home, task* t);
/// Runs `t` in the caller's frame.
void run_here(task* t);

/// The runtime whose task created the place. If an external thread created it, or that runtime has ended: the runtime
/// of the submitter.
class home_place {
 public:
  home_place() noexcept : home_(home_of_caller()) {}
  void submit(task* t) const { submit_late(home_, t); }

 private:
  home_link* home_;
};

/// In the frame of the submitter.
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
