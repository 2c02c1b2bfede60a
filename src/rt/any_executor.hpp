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

#include "rt/detail/origin.hpp"
#include "rt/detail/task.hpp"

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
