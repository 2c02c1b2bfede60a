// reduce, transform_reduce: combine all elements into one value.
//
// The result depends on the number of elements (and on the policy's chunk_size), never on workers or schedule: it is
// bitwise reproducible, also in floating point, and the same under seq and par. Operands keep their order, so the
// operation must be associative but need not be commutative (the standard requires both). One exception: sums and
// products of arithmetic types by std::plus and std::multiplies, which commute, use several partial results for vector
// instructions.
//
// Thread safety: the operations are called from several workers concurrently. Cost: n - 1 operations, one value of the
// result type per chunk (about a thousand chunks, or one per 8192 elements). Iterators without random access are
// traversed in order by the caller. Example: algorithm/reduce_test.cpp.
#pragma once

#include <functional>

#include "rt/algorithm/detail/reduce.hpp"

namespace plx {
namespace detail {

template <class T, class Get, class Op>
T reduce_indices(const spread& how, std::int64_t n, T init, Get& get, Op& op, std::int64_t least) {
  if (n <= 0) return init;
  const chunking chunks(how, n, least);
  const auto combine = [&op](T&& a, T&& b) { return static_cast<T>(op(std::move(a), std::move(b))); };
  T all = reduce_chunks<T>(
      how, chunks, [&](std::int64_t begin, std::int64_t end) { return fold<T>(begin, end, get, op); }, combine);
  return static_cast<T>(op(std::move(init), std::move(all)));
}

}  // namespace detail

/// init + (transform(x[0]) + transform(x[1]) + ...), with `op` for +.
template <execution_policy Policy, detail::forward_it It, class T, class Op, class Transform>
auto transform_reduce(const Policy& policy, It first, It last, T init, Op op, Transform transform) {
  return detail::perform(policy,
                         [=, init = std::move(init), op = std::move(op),
                          transform = std::move(transform)](const detail::spread& how) mutable -> T {
                           const auto n = static_cast<std::int64_t>(std::distance(first, last));
                           if constexpr (std::random_access_iterator<It>) {
                             const auto get = [&](std::int64_t i) -> decltype(auto) {
                               return transform(*detail::at(first, i));
                             };
                             return detail::reduce_indices<T>(how, n, std::move(init), get, op, 1);
                           } else {
                             for (; first != last; ++first) init = op(std::move(init), transform(*first));
                             return std::move(init);
                           }
                         });
}
template <execution_policy Policy, detail::sized_range Range, class T, class Op, class Transform>
auto transform_reduce(const Policy& policy, Range&& range, T init, Op op, Transform transform) {
  return plx::transform_reduce(policy, std::begin(range), std::end(range), std::move(init), std::move(op),
                               std::move(transform));
}

/// init + (x[0] * y[0] + x[1] * y[1] + ...), with `op` for + and `product` for *.
template <execution_policy Policy, detail::forward_it It1, detail::forward_it It2, class T, class Op, class Product>
auto transform_reduce(const Policy& policy, It1 first1, It1 last1, It2 first2, T init, Op op, Product product) {
  return detail::perform(policy,
                         [=, init = std::move(init), op = std::move(op),
                          product = std::move(product)](const detail::spread& how) mutable -> T {
                           const auto n = static_cast<std::int64_t>(std::distance(first1, last1));
                           if constexpr (std::random_access_iterator<It1> && std::random_access_iterator<It2>) {
                             const auto get = [&](std::int64_t i) -> decltype(auto) {
                               return product(*detail::at(first1, i), *detail::at(first2, i));
                             };
                             constexpr bool plain =
                                 detail::commutes<Op, T> && detail::commutes<Product, detail::value_of<It1>>;
                             return detail::reduce_indices<T>(how, n, std::move(init), get, op, plain ? 1024 : 1);
                           } else {
                             for (; first1 != last1; ++first1, ++first2)
                               init = op(std::move(init), product(*first1, *first2));
                             return std::move(init);
                           }
                         });
}
template <execution_policy Policy, detail::forward_it It1, detail::forward_it It2, class T>
auto transform_reduce(const Policy& policy, It1 first1, It1 last1, It2 first2, T init) {
  return plx::transform_reduce(policy, first1, last1, first2, std::move(init), std::plus<>(), std::multiplies<>());
}
/// Over the length of the first range; the second one must be at least as long.
template <execution_policy Policy, detail::sized_range Range1, detail::sized_range Range2, class T>
auto transform_reduce(const Policy& policy, Range1&& range1, Range2&& range2, T init) {
  return plx::transform_reduce(policy, std::begin(range1), std::end(range1), std::begin(range2), std::move(init));
}
template <execution_policy Policy, detail::sized_range Range1, detail::sized_range Range2, class T, class Op,
          class Product>
auto transform_reduce(const Policy& policy, Range1&& range1, Range2&& range2, T init, Op op, Product product) {
  return plx::transform_reduce(policy, std::begin(range1), std::end(range1), std::begin(range2), std::move(init),
                               std::move(op), std::move(product));
}

/// init + (x[0] + x[1] + ...), with `op` for +.
template <execution_policy Policy, detail::forward_it It, class T, class Op = std::plus<>>
auto reduce(const Policy& policy, It first, It last, T init, Op op = {}) {
  return detail::perform(
      policy, [=, init = std::move(init), op = std::move(op)](const detail::spread& how) mutable -> T {
        if constexpr (std::random_access_iterator<It>) {
          const auto get = [first](std::int64_t i) -> decltype(auto) { return *detail::at(first, i); };
          return detail::reduce_indices<T>(how, std::distance(first, last), std::move(init), get, op,
                                           detail::least_chunk<T, Op>);
        } else {
          for (; first != last; ++first) init = op(std::move(init), *first);
          return std::move(init);
        }
      });
}
template <execution_policy Policy, detail::forward_it It>
auto reduce(const Policy& policy, It first, It last) {
  return plx::reduce(policy, first, last, detail::value_of<It>{});
}
template <execution_policy Policy, detail::sized_range Range, class T, class Op = std::plus<>>
auto reduce(const Policy& policy, Range&& range, T init, Op op = {}) {
  return plx::reduce(policy, std::begin(range), std::end(range), std::move(init), std::move(op));
}
template <execution_policy Policy, detail::sized_range Range>
auto reduce(const Policy& policy, Range&& range) {
  return plx::reduce(policy, std::begin(range), std::end(range));
}

}  // namespace plx
