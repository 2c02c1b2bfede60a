// What an executor is: anything that takes a call and makes it happen, now or later, here or elsewhere.
//
//   struct my_executor {
//     void post(auto f) const;   // calls f() once, some time; must not wait for it, must not throw
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

/// One call of something the runtime has prepared: two words, trivially copyable. Requires: called exactly once.
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

/// post(w) makes w() be called once. post() must not wait for the call, and it must not throw: continuations are posted
/// by whoever completes a future. Calling w() within post() is allowed.
template <class E>
concept any_executor = std::copy_constructible<E> && std::equality_comparable<E> && requires(const E& ex, work w) {
  ex.post(w);
};

namespace detail {

/// Hands `t` to an executor: at no cost to one of ours, as a `work` to somebody else's.
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

// Where a task goes that is made now and submitted later: a continuation.
//
// Thread safety: values. Cost: home_place one call to make; to submit, a comparison more than submit_task(), and a
// spinlock of that runtime's when another runtime's worker, or a foreign thread, submits.

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
