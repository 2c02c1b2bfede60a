// unwrap and unwrapping: the values of futures, and functions of values as functions of futures.
//
//   plx::dataflow(plx::unwrapping([](int a, double b) { return a * b; }), std::move(fa), std::move(fb));
//   f.then(plx::unwrapping([](int a) { return a + 1; }));
//
// A future of a future is unwrapped by future::unwrap() or by assigning it to a future of the value.
// Thread safety: that of the futures. Cost: that of get(). Example: when_more_test.cpp.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "rt/detail/future_sequence.hpp"

namespace plx {
namespace detail {

template <class F>
inline constexpr bool is_void_future = false;
template <>
inline constexpr bool is_void_future<future<void>> = true;
template <>
inline constexpr bool is_void_future<shared_future<void>> = true;

template <class F>
auto values_of(std::vector<F>& futures) {
  if constexpr (is_void_future<F>) {
    for (auto& f : futures) f.get();
    return std::tuple<>();
  } else {
    std::vector<std::decay_t<typename future_value<F>::type>> values;
    values.reserve(futures.size());
    for (auto& f : futures) values.push_back(f.get());
    return std::tuple<decltype(values)>(std::move(values));
  }
}

/// What an argument gives to the call: nothing for a future<void>, the value or a reference for another future, a
/// vector of values for one of futures, and other arguments as they are.
template <class A>
auto values_in(A&& a) {
  using type = std::remove_cvref_t<A>;
  if constexpr (is_void_future<type>) {
    a.get();
    return std::tuple<>();
  } else if constexpr (is_future<type>) {
    return std::tuple<decltype(a.get())>(a.get());
  } else if constexpr (is_future_vector<type>) {
    return values_of(a);
  } else if constexpr (is_future_sequence<type>) {
    auto each = std::apply([](auto&... f) { return std::tuple_cat(values_in(f)...); }, a);
    return std::tuple<decltype(each)>(std::move(each));
  } else {
    return std::tuple<A&&>(std::forward<A>(a));
  }
}

template <class F>
struct unwrapping_call {
  F f;
  /// Profiles name the call after what the user wrote: see probe::register_callable_name().
  const F& wrapped_callable() const noexcept { return f; }
  template <class... A>
  decltype(auto) operator()(A&&... args) {
    return std::apply(f, std::tuple_cat(values_in(std::forward<A>(args))...));
  }
};

}  // namespace detail

/// Waits for the futures and gives their values: one value, or a tuple of several; see unwrapping() for what counts.
/// Throws what the first of them that failed threw.
template <class... F>
auto unwrap(F&&... futures) {
  auto values = std::tuple_cat(detail::values_in(std::forward<F>(futures))...);
  using tuple = decltype(values);
  if constexpr (std::tuple_size_v<tuple> == 0)
    return;
  else if constexpr (std::tuple_size_v<tuple> == 1)
    return std::tuple_element_t<0, tuple>(std::get<0>(std::move(values)));
  else
    return values;
}

/// A callable that calls `f` with the values of its arguments: of a future its value (of a shared one a reference; of a
/// future<void> nothing), of a vector of futures the vector of values, of a tuple or array the tuple of values. Other
/// arguments are passed on. If one holds an exception, `f` is not called and the exception is thrown.
template <class F>
auto unwrapping(F&& f) {
  return detail::unwrapping_call<std::decay_t<F>>{std::forward<F>(f)};
}

}  // namespace plx
