// wait_all, wait_any, wait_some, wait_each: waiting for many futures, which stay where they are.
//
// None of them throws what the futures hold: get() does. Thread safety: as for the futures; the caller is a task or a
// foreign thread. Cost: wait_all nothing but the waiting; the others one allocation and a node per future.
// Example: when_more_test.cpp.
#pragma once

#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "rt/detail/future_sequence.hpp"
#include "rt/detail/spinlock.hpp"
#include "rt/detail/wait.hpp"

namespace plx {
namespace detail {

/// The order in which futures become ready. It holds its states, so that their futures may go before it does.
class ready_order {
 public:
  /// Attaches to all; the states stay the caller's.
  explicit ready_order(const std::vector<future_state_base*>& states);
  /// Detaches from those that are not ready.
  ~ready_order();
  ready_order(const ready_order&) = delete;
  ready_order& operator=(const ready_order&) = delete;

  /// Waits until `n` are ready. Requires: n is at most the number of states.
  void wait_for(std::size_t n);
  /// The index of the i-th that became ready. Requires: wait_for(i + 1) has returned.
  std::size_t operator[](std::size_t i) const;

 private:
  struct shared;
  shared* shared_;
};

template <class Future>
future_state_base* base_of(Future& f) {
  return &state_of(const_cast<std::remove_const_t<Future>&>(f)).checked();
}
template <class... F>
std::vector<future_state_base*> bases_of(F&... futures) {
  return {base_of(futures)...};
}
template <class It>
std::vector<future_state_base*> bases_of_range(It first, It last) {
  std::vector<future_state_base*> all;
  for (; first != last; ++first) all.push_back(base_of(*first));
  return all;
}
std::size_t wait_any_of(const std::vector<future_state_base*>& states);
std::vector<std::size_t> wait_some_of(std::size_t n, const std::vector<future_state_base*>& states);

template <class Call>
void wait_each_of(const std::vector<future_state_base*>& states, Call call) {
  ready_order order(states);
  for (std::size_t i = 0; i < states.size(); ++i) {
    order.wait_for(i + 1);
    call(order[i]);
  }
}

template <class F, class Future>
void call_each(F& f, std::size_t index, Future& future) {
  if constexpr (std::is_invocable_v<F&, std::size_t, Future&>)
    f(index, future);
  else
    f(future);
}

template <class R>
concept future_range = requires(R& r) {
  r.begin();
  r.end();
  requires is_future<std::remove_cvref_t<decltype(*r.begin())>>;
};

}  // namespace detail

/// Returns when all are ready. Futures without a state: future_error(no_state), as in all that follow.
template <class... F>
requires(detail::is_future<F>&&...) void wait_all(const F&... futures) { (futures.wait(), ...); }
template <class It>
requires(!detail::is_future<It>) void wait_all(It first, It last) {
  for (; first != last; ++first) first->wait();
}
template <class It>
void wait_all_n(It first, std::size_t n) {
  for (; n != 0; --n, ++first) first->wait();
}
template <detail::future_range Range>
void wait_all(const Range& futures) {
  wait_all(futures.begin(), futures.end());
}

/// Returns when one is ready: its index. Without futures at once: size_t(-1).
template <class... F>
requires(detail::is_future<F>&&...) std::size_t wait_any(const F&... futures) {
  return detail::wait_any_of(detail::bases_of(futures...));
}
template <class It>
requires(!detail::is_future<It>) std::size_t wait_any(It first, It last) {
  return detail::wait_any_of(detail::bases_of_range(first, last));
}
template <class It>
std::size_t wait_any_n(It first, std::size_t n) {
  return wait_any(first, std::next(first, static_cast<std::ptrdiff_t>(n)));
}
template <detail::future_range Range>
std::size_t wait_any(const Range& futures) {
  return wait_any(futures.begin(), futures.end());
}

/// Returns when `n` are ready: their indices, in the order of becoming ready. More than there are:
/// std::invalid_argument.
template <class... F>
requires(detail::is_future<F>&&...) std::vector<std::size_t> wait_some(std::size_t n, const F&... futures) {
  return detail::wait_some_of(n, detail::bases_of(futures...));
}
template <class It>
requires(!detail::is_future<It>) std::vector<std::size_t> wait_some(std::size_t n, It first, It last) {
  return detail::wait_some_of(n, detail::bases_of_range(first, last));
}
template <class It>
std::vector<std::size_t> wait_some_n(std::size_t n, It first, std::size_t count) {
  return wait_some(n, first, std::next(first, static_cast<std::ptrdiff_t>(count)));
}
template <detail::future_range Range>
std::vector<std::size_t> wait_some(std::size_t n, const Range& futures) {
  return wait_some(n, futures.begin(), futures.end());
}

/// Calls `f(future)` or `f(index, future)`, in the caller, for each future as they become ready; `f` may take its
/// value. An exception out of `f` ends it.
template <class F, class Range>
requires detail::future_range<std::remove_reference_t<Range>>
void wait_each(F&& f, Range&& futures) {
  detail::wait_each_of(detail::bases_of_range(futures.begin(), futures.end()), [&](std::size_t i) {
    detail::call_each(f, i, *std::next(futures.begin(), static_cast<std::ptrdiff_t>(i)));
  });
}
template <class F, class... Future>
requires(detail::is_future<std::remove_cvref_t<Future>>&&...) void wait_each(F&& f, Future&&... futures) {
  detail::wait_each_of(detail::bases_of(futures...), [&](std::size_t index) {
    std::size_t i = 0;
    ((i++ == index ? detail::call_each(f, index, futures) : void()), ...);
  });
}
template <class F, class It>
requires(!detail::is_future<It> && std::input_iterator<It>) void wait_each(F&& f, It first, It last) {
  detail::wait_each_of(detail::bases_of_range(first, last), [&](std::size_t i) {
    detail::call_each(f, i, *std::next(first, static_cast<std::ptrdiff_t>(i)));
  });
}
template <class F, class It>
void wait_each_n(F&& f, It first, std::size_t n) {
  wait_each(std::forward<F>(f), first, std::next(first, static_cast<std::ptrdiff_t>(n)));
}

}  // namespace plx
