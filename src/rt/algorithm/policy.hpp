// Execution policies: plx::seq, par, unseq, par_unseq, as in the standard's <execution>, and their forms that return a
// future: par(plx::execution::task).
//
//   plx::sort(plx::par, v);                                                  // waits
//   plx::future<void> f = plx::sort(plx::par(plx::execution::task), v);      // returns at once; v must outlive f
//   plx::for_each(plx::par.with(plx::execution::chunk_size{64}), v, body);   // distributed in multiples of 64
//   plx::for_each(plx::par.on(ex.with_name("smooth")), v, body);             // see executor.hpp
//
// seq makes all calls in order in the calling task. unseq does, too, but the steps of different calls may be
// interleaved (vector instructions). par also uses other workers, as far as they are idle.
//
// Exceptions, as in the standard: an exception thrown by an element's function ends the program by std::terminate(); if
// memory for temporaries cannot be allocated, std::bad_alloc is thrown. The forms with (task) instead pass every
// exception to the future (the first one, if several are thrown); the other tasks stop as soon as they notice, and the
// elements that were written have unspecified values. So `for_each(par(task), ...).get()` is a loop that throws.
//
// The result of an algorithm is bitwise independent of the number of workers and of the schedule: sums are grouped by
// the number of elements alone (and by chunk_size, if given); seq groups them in the same way.
//
// Thread safety: policies are values. Cost: none. Example: algorithm/test/for_each_test.cpp, examples/09_algorithms.cpp
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "rt/algorithm/detail/partitioner.hpp"
#include "rt/any_executor.hpp"

namespace plx {
namespace execution {

/// Tag: the algorithm returns a future of its result.
struct to_future {};
inline constexpr to_future task{};

/// The minimum number of elements per chunk. Without it, the chunk size follows from the measured time per element.
struct chunk_size {
  std::int64_t elements = 0;
};

/// No executor: the algorithm starts in the caller's task.
struct in_place {};

template <bool Parallel, bool Unsequenced, bool Async, class Executor = in_place>
class policy {
 public:
  static constexpr bool is_parallel = Parallel, is_unsequenced = Unsequenced, is_async = Async;
  static constexpr bool has_executor = !std::is_same_v<Executor, in_place>;

  constexpr policy() noexcept = default;

  [[nodiscard]] constexpr policy<Parallel, Unsequenced, true, Executor> operator()(to_future) const {
    return {info_, chunk_, executor_};
  }
  [[nodiscard]] constexpr policy with(chunk_size c) const { return {info_, c.elements, executor_}; }
  /// The name, key and placement of the tasks.
  [[nodiscard]] constexpr policy with(task_info info) const { return {info, chunk_, executor_}; }
  /// The algorithm starts as a task of `ex`. The tasks that join it belong to the runtime in which it runs, and have
  /// the executor's name and placement; a limiting executor limits the number of algorithms, not of these tasks.
  template <any_executor E>
  [[nodiscard]] constexpr policy<Parallel, Unsequenced, Async, E> on(const E& ex) const {
    return {detail::info_of(ex), chunk_, ex};
  }

  [[nodiscard]] constexpr task_info info() const noexcept { return info_; }
  [[nodiscard]] constexpr chunk_size chunk() const noexcept { return {chunk_}; }
  [[nodiscard]] constexpr const Executor& executor() const noexcept { return executor_; }

 private:
  template <bool, bool, bool, class>
  friend class policy;
  constexpr policy(task_info info, std::int64_t chunk, const Executor& ex)
      : info_(info), chunk_(chunk), executor_(ex) {}

  task_info info_{};
  std::int64_t chunk_ = 0;
  [[no_unique_address]] Executor executor_{};
};

using sequenced_policy = policy<false, false, false>;
using unsequenced_policy = policy<false, true, false>;
using parallel_policy = policy<true, false, false>;
using parallel_unsequenced_policy = policy<true, true, false>;

inline constexpr sequenced_policy seq{};
inline constexpr unsequenced_policy unseq{};
inline constexpr parallel_policy par{};
inline constexpr parallel_unsequenced_policy par_unseq{};

}  // namespace execution

using execution::par;
using execution::par_unseq;
using execution::seq;
using execution::unseq;

template <class T>
inline constexpr bool is_execution_policy_v = false;
template <bool P, bool U, bool A, class E>
inline constexpr bool is_execution_policy_v<execution::policy<P, U, A, E>> = true;
template <class T>
struct is_execution_policy : std::bool_constant<is_execution_policy_v<T>> {};

template <class T>
concept execution_policy = is_execution_policy_v<T>;

namespace detail {

/// Memory for temporaries could not be allocated.
class no_temporary_memory : public std::bad_alloc {};

template <class Executor, class F>
future<std::invoke_result_t<F&>> begin_on(const Executor& ex, task_info info, F f) {
  auto* s = make_async(info, std::move(f));
  auto result = adopt_state<std::invoke_result_t<F&>>(s);
  execute_on(ex, s->alone());
  return result;
}

/// Calls `work(how)` according to the policy and returns its result, or the future of it. Requires: `work` owns or
/// outlives what it refers to (it is moved into a task if the policy requests a future).
template <class Policy, class Work>
auto perform(const Policy& policy, Work work) {
  const spread how{policy.info(), policy.chunk().elements, Policy::is_parallel};
  auto call = [how, work = std::move(work)]() mutable { return work(how); };
  if constexpr (Policy::is_async && Policy::has_executor) {
    return begin_on(policy.executor(), how.info, std::move(call));
  } else if constexpr (Policy::is_async) {
    return async(how.info, std::move(call));
  } else {
    try {
      if constexpr (Policy::has_executor)
        return begin_on(policy.executor(), how.info, std::move(call)).get();
      else
        return call();
    } catch (const no_temporary_memory&) {
      throw;
    } catch (...) {
      std::terminate();  // as in the standard; a policy with (task) passes the exception to the future
    }
  }
}

}  // namespace detail
}  // namespace plx
