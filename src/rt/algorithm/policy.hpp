// Execution policies: plx::seq, par, unseq, par_unseq, as in the standard's <execution>, and their forms that return a
// future: par(plx::execution::task).
//
//   plx::sort(plx::par, v);                                                  // waits
//   plx::future<void> f = plx::sort(plx::par(plx::execution::task), v);      // does not; v must live until f is ready
//   plx::for_each(plx::par.with(plx::execution::chunk_size{64}), v, body);   // handed out in multiples of 64
//
// seq calls everything in order in the calling task. unseq does too, but the order of one call's steps may be mixed
// with another's (vector instructions). par also uses other workers, if there are any with nothing to do.
//
// Exceptions, as in the standard: what an element's function throws ends the program by std::terminate(); when memory
// for temporaries cannot be had, std::bad_alloc is thrown. The forms with (task) instead give every exception to the
// future (the first, when several are thrown); the others' work stops as soon as they notice, and elements that were
// written to have unspecified values. So `for_each(par(task), ...).get()` is the loop that throws.
//
// What an algorithm returns does not depend on the number of workers or on the schedule, bitwise: sums are grouped by
// the number of elements alone (and by chunk_size, where one is given); seq groups them in the same way.
//
// Thread safety: policies are values. Cost: none. Example: algorithm/for_each_test.cpp, examples/09_algorithms.cpp.
#pragma once

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "rt/detail/partitioner.hpp"

namespace plx {
namespace execution {

/// Tag: the algorithm returns a future of its result.
struct to_future {};
inline constexpr to_future task{};

/// How many elements are handed out at least. Without it the time that they take decides.
struct chunk_size {
  std::int64_t elements = 0;
};

template <bool Parallel, bool Unsequenced, bool Async>
class policy {
 public:
  static constexpr bool is_parallel = Parallel, is_unsequenced = Unsequenced, is_async = Async;

  constexpr policy() noexcept = default;

  [[nodiscard]] constexpr policy<Parallel, Unsequenced, true> operator()(to_future) const noexcept {
    return policy<Parallel, Unsequenced, true>(info_, chunk_);
  }
  [[nodiscard]] constexpr policy with(chunk_size c) const noexcept { return policy(info_, c.elements); }
  /// The tasks' name, key and place.
  [[nodiscard]] constexpr policy with(task_info info) const noexcept { return policy(info, chunk_); }

  [[nodiscard]] constexpr task_info info() const noexcept { return info_; }
  [[nodiscard]] constexpr chunk_size chunk() const noexcept { return {chunk_}; }

 private:
  template <bool, bool, bool>
  friend class policy;
  constexpr policy(task_info info, std::int64_t chunk) noexcept : info_(info), chunk_(chunk) {}

  task_info info_{};
  std::int64_t chunk_ = 0;
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
template <bool P, bool U, bool A>
inline constexpr bool is_execution_policy_v<execution::policy<P, U, A>> = true;
template <class T>
struct is_execution_policy : std::bool_constant<is_execution_policy_v<T>> {};

template <class T>
concept execution_policy = is_execution_policy_v<T>;

namespace detail {

/// Memory for temporaries could not be had.
class no_temporary_memory : public std::bad_alloc {};

/// Calls `work(how)` as the policy says and gives its result, or the future of it. Requires: `work` owns or outlives
/// what it refers to (it is moved into a task when the policy asks for a future).
template <class Policy, class Work>
auto perform(const Policy& policy, Work work) {
  const spread how{policy.info(), policy.chunk().elements, Policy::is_parallel};
  if constexpr (Policy::is_async) {
    return async(how.info, [how, work = std::move(work)]() mutable { return work(how); });
  } else {
    try {
      return work(how);
    } catch (const no_temporary_memory&) {
      throw;
    } catch (...) {
      std::terminate();  // as the standard says; a policy with (task) gives the exception to the future
    }
  }
}

}  // namespace detail
}  // namespace plx
