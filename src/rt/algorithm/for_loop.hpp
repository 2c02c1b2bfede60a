// for_loop with policies, reductions and inductions; for_loop_n, for_loop_strided, for_loop_n_strided.
//
//   double sum = 0, largest = 0;
//   plx::for_loop(plx::par, 0, n, plx::reduction_plus(sum), plx::reduction_max(largest), plx::induction(0.5, 0.1),
//                 [&](int i, double& s, double& m, double x) { s += f(x) * w[i]; m = std::max(m, w[i]); });
//
// The body is called with the index, then with one argument per reduction and induction, in their order. For a
// reduction the argument is a reference to a partial result that no other task uses meanwhile; for an induction the
// value start + stride * i of the i-th iteration. Afterwards the variables of the reductions hold the results; an
// induction constructed from an lvalue leaves start + stride * n in it. Partial results are combined in a tree
// determined by n alone (reduce.hpp), in the order of the indices: the result is bitwise the same on every
// schedule. The variables must live until the loop ends.
//
// Exceptions: see policy.hpp; the simple for_loop(first, last, body) of rt/for_loop.hpp throws.
// Thread safety: the body is called from several workers concurrently. Cost: that of a loop in chunks; with reductions,
// one set of partial results per chunk. Example: algorithm/test/for_loop_more_test.cpp.
#pragma once

#include <functional>
#include <tuple>

#include "base/assert.hpp"
#include "rt/algorithm/reduce.hpp"
#include "rt/for_loop.hpp"

namespace plx {
namespace detail {

template <class T, class Op>
struct reduction_of {
  static constexpr bool reduces = true;
  using partial = T;
  T* result;
  T identity;
  Op op;

  T begin(std::int64_t) const { return identity; }
  static T& argument(T& p) noexcept { return p; }
  static void step(T&) noexcept {}
  T combine(T&& a, T&& b) { return static_cast<T>(op(std::move(a), std::move(b))); }
  void finish(T&& p, std::int64_t) { *result = static_cast<T>(op(std::move(*result), std::move(p))); }
};

/// start + stride * i, computed from i at the start of a chunk, then by increments for integers and by products for
/// other types, so that a value does not depend on where a chunk starts.
template <class T, class Stride>
struct induction_of {
  static constexpr bool reduces = false;
  struct partial {
    const induction_of* self;
    std::int64_t i;
  };
  T start;
  Stride stride;
  T* live_out;

  [[nodiscard]] T at(std::int64_t i) const {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<T>(start + static_cast<T>(i) * static_cast<T>(stride));
    else  // an iterator
      return start + static_cast<std::iter_difference_t<T>>(i * static_cast<std::int64_t>(stride));
  }
  partial begin(std::int64_t i) const { return {this, i}; }
  static T argument(partial& p) { return p.self->at(p.i); }
  static void step(partial& p) noexcept { ++p.i; }
  partial combine(partial&& a, partial&&) const { return a; }
  void finish(partial&&, std::int64_t n) {
    if (live_out != nullptr) *live_out = at(n);
  }
};

template <class T>
inline constexpr bool is_loop_object = false;
template <class T, class Op>
inline constexpr bool is_loop_object<reduction_of<T, Op>> = true;
template <class T, class Stride>
inline constexpr bool is_loop_object<induction_of<T, Stride>> = true;

/// body(first + stride * i, arguments...) for i in [begin, end).
template <class Index, class Body, class Partials, class... Object, std::size_t... K>
void loop_some(Index first, std::int64_t stride, std::int64_t begin, std::int64_t end, Body& body, Partials& partials,
               const std::tuple<Object...>&, std::index_sequence<K...>) {
  for (std::int64_t i = begin; i < end; ++i) {
    body(advanced(first, i * stride), Object::argument(std::get<K>(partials))...);
    (Object::step(std::get<K>(partials)), ...);
  }
}

template <class Index, class Body, class... Object>
void loop_with(const spread& how, Index first, std::int64_t n, std::int64_t stride, std::tuple<Object...>& objects,
               Body& body) {
  constexpr auto indices = std::index_sequence_for<Object...>();
  using partials = std::tuple<typename Object::partial...>;
  const auto begin_at = [&](std::int64_t i) {
    return std::apply([i](auto&... o) { return partials(o.begin(i)...); }, objects);
  };
  if (n < 0) n = 0;
  if constexpr (!(Object::reduces || ...)) {
    in_pieces(how, n, [&](std::int64_t begin, std::int64_t end) {
      auto mine = begin_at(begin);
      loop_some(first, stride, begin, end, body, mine, objects, indices);
    });
    auto whole = begin_at(0);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (std::get<K>(objects).finish(std::move(std::get<K>(whole)), n), ...);
    }
    (indices);
  } else {
    const auto leaf = [&](std::int64_t begin, std::int64_t end) {
      auto mine = begin_at(begin);
      loop_some(first, stride, begin, end, body, mine, objects, indices);
      return mine;
    };
    const auto combine = [&](partials&& a, partials&& b) {
      return [&]<std::size_t... K>(std::index_sequence<K...>) {
        return partials(std::get<K>(objects).combine(std::move(std::get<K>(a)), std::move(std::get<K>(b)))...);
      }
      (indices);
    };
    auto all = n == 0 ? begin_at(0) : reduce_chunks<partials>(how, chunking(how, n), leaf, combine);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (std::get<K>(objects).finish(std::move(std::get<K>(all)), n), ...);
    }
    (indices);
  }
}

/// The index type of a loop from First to Last: their common type, so that `0, v.size()` counts in size_t.
template <class First, class Last>
using loop_index = std::common_type_t<First, Last>;

template <class First, class Last>
void check_loop_start([[maybe_unused]] const First& first) {
  if constexpr (std::is_integral_v<First> && std::is_signed_v<First> && std::is_unsigned_v<loop_index<First, Last>>)
    PLX_ASSERT(first >= 0 && "the loop starts below 0 but its end is unsigned: convert both to one signed type", first);
}

/// The last argument is the body, those before it are reductions and inductions.
template <class Policy, class Index, class... Argument, std::size_t... K>
auto loop_by(const Policy& policy, Index first, std::int64_t n, std::int64_t stride, std::tuple<Argument...> arguments,
             std::index_sequence<K...>) {
  static_assert((is_loop_object<std::tuple_element_t<K, std::tuple<Argument...>>> && ...),
                "the arguments between the range and the body must be plx::reduction...() or plx::induction()");
  return perform(policy, [=, objects = std::make_tuple(std::move(std::get<K>(arguments))...),
                          body = std::move(std::get<sizeof...(K)>(arguments))](const spread& how) mutable {
    loop_with(how, first, n, stride, objects, body);
  });
}
template <class Policy, class Index, class... Argument>
auto loop_by(const Policy& policy, Index first, std::int64_t n, std::int64_t stride, Argument&&... arguments) {
  return loop_by(policy, first, n, stride, std::tuple<std::decay_t<Argument>...>(std::forward<Argument>(arguments)...),
                 std::make_index_sequence<sizeof...(Argument) - 1>());
}

}  // namespace detail

/// Sets `result` to op(result, r), where r combines the iterations' partial results, each of which starts as
/// `identity`.
template <class T, class Op>
detail::reduction_of<T, Op> reduction(T& result, std::type_identity_t<T> identity, Op op) {
  return {&result, std::move(identity), std::move(op)};
}
/// A sum, added to the initial value of the variable.
template <class T>
auto reduction_plus(T& result) {
  return plx::reduction(result, T{}, std::plus<>());
}
/// A product, multiplied by the initial value of the variable.
template <class T>
auto reduction_multiplies(T& result) {
  return plx::reduction(result, T(1), std::multiplies<>());
}
/// The minimum, including the initial value of the variable.
template <class T>
auto reduction_min(T& result) {
  return plx::reduction(result, result, [](const T& a, const T& b) { return b < a ? b : a; });
}
/// The maximum, including the initial value of the variable.
template <class T>
auto reduction_max(T& result) {
  return plx::reduction(result, result, [](const T& a, const T& b) { return a < b ? b : a; });
}
/// Bitwise or.
template <class T>
auto reduction_bit_or(T& result) {
  return plx::reduction(result, T{}, std::bit_or<>());
}
/// Bitwise exclusive or.
template <class T>
auto reduction_bit_xor(T& result) {
  return plx::reduction(result, T{}, std::bit_xor<>());
}
/// Bitwise and.
template <class T>
auto reduction_bit_and(T& result) {
  return plx::reduction(result, static_cast<T>(~T{}), std::bit_and<>());
}

/// start, start + stride, start + 2 * stride, ...; an lvalue holds start + stride * n afterwards.
template <class T, class Stride = int>
detail::induction_of<std::remove_cvref_t<T>, Stride> induction(T&& start, Stride stride = 1) {
  if constexpr (std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>)
    return {start, stride, &start};
  else
    return {start, stride, nullptr};
}

/// body(i, arguments...) for each i in [first, last).
/// i has the common type of first and last.
template <execution_policy Policy, class First, class Last, class... Argument>
auto for_loop(const Policy& policy, First first, Last last, Argument&&... objects_and_body) {
  detail::check_loop_start<First, Last>(first);
  const auto begin = static_cast<detail::loop_index<First, Last>>(first);
  const auto end = static_cast<detail::loop_index<First, Last>>(last);
  const std::int64_t n = begin < end ? detail::distance(begin, end) : 0;
  return detail::loop_by(policy, begin, n, 1, std::forward<Argument>(objects_and_body)...);
}
/// body(first + i, arguments...) for i in [0, n).
template <execution_policy Policy, class Index, class Size, class... Argument>
auto for_loop_n(const Policy& policy, Index first, Size n, Argument&&... objects_and_body) {
  return detail::loop_by(policy, first, static_cast<std::int64_t>(n), 1, std::forward<Argument>(objects_and_body)...);
}
/// body(i, arguments...) for i = first, first + stride, ... before last; with a negative stride, down to above last.
/// i has the common type of first and last. Requires: stride != 0.
template <execution_policy Policy, class First, class Last, class Stride, class... Argument>
auto for_loop_strided(const Policy& policy, First first, Last last, Stride stride, Argument&&... objects_and_body) {
  detail::check_loop_start<First, Last>(first);
  const auto step = static_cast<std::int64_t>(stride);
  PLX_ASSERT(step != 0);
  const auto begin = static_cast<detail::loop_index<First, Last>>(first);
  const auto end = static_cast<detail::loop_index<First, Last>>(last);
  std::int64_t n = 0;
  if (step > 0 && begin < end) n = (detail::distance(begin, end) - 1) / step + 1;
  if (step < 0 && end < begin) n = (detail::distance(end, begin) - 1) / -step + 1;
  return detail::loop_by(policy, begin, n, step, std::forward<Argument>(objects_and_body)...);
}
/// body(first + stride * i, arguments...) for i in [0, n).
template <execution_policy Policy, class Index, class Size, class Stride, class... Argument>
auto for_loop_n_strided(const Policy& policy, Index first, Size n, Stride stride, Argument&&... objects_and_body) {
  return detail::loop_by(policy, first, static_cast<std::int64_t>(n), static_cast<std::int64_t>(stride),
                         std::forward<Argument>(objects_and_body)...);
}

}  // namespace plx
