// inclusive_scan, exclusive_scan, transform_inclusive_scan, transform_exclusive_scan: prefix sums.
//
// The output depends on the number of elements (and on the policy's chunk_size), never on workers or schedule: it is
// bitwise reproducible, also in floating point. Operands keep their order: the operation must be associative but need
// not be commutative. The output may be the input.
//
// Thread safety: operations are called from several workers concurrently. Cost: 2 n operations (n, if T is an integer
// and no other worker joins), one read and one write of the data. Iterators without random access are traversed in
// order by the caller, with n operations. Example: algorithm/scan_test.cpp.
#pragma once

#include <functional>

#include "rt/algorithm/detail/prefix.hpp"
#include "rt/algorithm/detail/reduce.hpp"

namespace plx {
namespace detail {

enum class scan_kind : bool { inclusive, exclusive };

/// Scans n elements in order; advances `to` to the end of the output and returns the sum so far.
template <scan_kind Kind, class T, class In, class Out, class Op, class Unary>
std::optional<T> scan_in_order(In in, std::int64_t n, Out& to, std::optional<T> so_far, Op& op, Unary& unary) {
  if (n <= 0) return so_far;
  if (!so_far) {  // only an inclusive scan may start without a value
    so_far.emplace(static_cast<T>(unary(*in)));
    *to = *so_far;
    ++in;
    ++to;
    --n;
  }
  T sum = std::move(*so_far);
  for (; n > 0; --n, ++in, ++to) {
    if constexpr (Kind == scan_kind::inclusive) {
      sum = static_cast<T>(op(std::move(sum), unary(*in)));
      *to = sum;
    } else {
      T next = static_cast<T>(op(sum, unary(*in)));  // read before *to, which may be *in, is written
      *to = std::move(sum);
      sum = std::move(next);
    }
  }
  return std::optional<T>(std::move(sum));
}

/// The computation per chunk. The prefix is empty before the first element of an inclusive scan without init.
template <scan_kind Kind, class T, class In, class Out, class Op, class Unary>
struct scan_steps {
  using sum_type = T;
  using prefix_type = std::optional<T>;
  static constexpr bool exact = std::is_integral_v<T>;

  In first;
  Out out;
  Op& op;
  Unary& unary;
  chunking chunks;

  T sum(std::int64_t c) {
    const auto get = [this](std::int64_t i) -> decltype(auto) { return unary(*at(first, i)); };
    return fold<T>(chunks.begin(c), chunks.end(c), get, op);
  }
  prefix_type join(const prefix_type& prefix, const T& s) {
    return prefix_type(prefix ? static_cast<T>(op(T(*prefix), s)) : T(s));
  }
  void emit(std::int64_t c, const prefix_type& prefix) { (void)both(c, prefix); }
  prefix_type both(std::int64_t c, const prefix_type& prefix) {
    Out to = at(out, chunks.begin(c));
    return scan_in_order<Kind>(at(first, chunks.begin(c)), chunks.end(c) - chunks.begin(c), to, prefix, op, unary);
  }
};

template <scan_kind Kind, class T, class In, class Out, class Op, class Unary>
Out scan(const spread& how, In first, In last, Out out, std::optional<T> init, Op& op, Unary& unary) {
  const auto n = static_cast<std::int64_t>(std::distance(first, last));
  if (n <= 0) return out;
  if constexpr (std::random_access_iterator<In> && shareable_it<Out>) {
    constexpr std::int64_t in_l1 = 32768 / static_cast<std::int64_t>(sizeof(T));
    const chunking chunks(how, n, commutes<Op, T> ? 1024 : 8, in_l1 < 1024 ? 1024 : in_l1);
    using steps_type = scan_steps<Kind, T, In, Out, Op, Unary>;
    steps_type steps{first, out, op, unary, chunks};
    prefix_walk<steps_type>(steps, chunks.count, std::move(init)).go(over_chunks(how));
    return at(out, n);
  } else {
    scan_in_order<Kind>(first, n, out, std::move(init), op, unary);
    return out;
  }
}

struct unchanged {
  template <class T>
  T&& operator()(T&& t) const noexcept {
    return static_cast<T&&>(t);
  }
};

}  // namespace detail

/// out[i] = init + f(x[0]) + ... + f(x[i]), with `op` for +. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Op, class Unary, class T>
auto transform_inclusive_scan(const Policy& policy, In first, In last, Out out, Op op, Unary f, T init) {
  return detail::perform(policy, [=, init = std::move(init)](const detail::spread& how) mutable {
    return detail::scan<detail::scan_kind::inclusive, T>(how, first, last, out, std::move(init), op, f);
  });
}
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Op, class Unary>
auto transform_inclusive_scan(const Policy& policy, In first, In last, Out out, Op op, Unary f) {
  using T = std::decay_t<decltype(f(*first))>;
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    return detail::scan<detail::scan_kind::inclusive, T>(how, first, last, out, std::nullopt, op, f);
  });
}
/// out[i] = init + f(x[0]) + ... + f(x[i - 1]), with `op` for +. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class T, class Op, class Unary>
auto transform_exclusive_scan(const Policy& policy, In first, In last, Out out, T init, Op op, Unary f) {
  return detail::perform(policy, [=, init = std::move(init)](const detail::spread& how) mutable {
    return detail::scan<detail::scan_kind::exclusive, T>(how, first, last, out, std::move(init), op, f);
  });
}

/// out[i] = init + x[0] + ... + x[i], with `op` for +. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Op, class T>
auto inclusive_scan(const Policy& policy, In first, In last, Out out, Op op, T init) {
  return plx::transform_inclusive_scan(policy, first, last, out, std::move(op), detail::unchanged(), std::move(init));
}
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Op = std::plus<>>
auto inclusive_scan(const Policy& policy, In first, In last, Out out, Op op = {}) {
  using T = detail::value_of<In>;
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    detail::unchanged same;
    return detail::scan<detail::scan_kind::inclusive, T>(how, first, last, out, std::nullopt, op, same);
  });
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class Op = std::plus<>>
auto inclusive_scan(const Policy& policy, Range&& range, Out out, Op op = {}) {
  return plx::inclusive_scan(policy, std::begin(range), std::end(range), out, std::move(op));
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class Op, class T>
auto inclusive_scan(const Policy& policy, Range&& range, Out out, Op op, T init) {
  return plx::inclusive_scan(policy, std::begin(range), std::end(range), out, std::move(op), std::move(init));
}

/// out[i] = init + x[0] + ... + x[i - 1], with `op` for +. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class T, class Op = std::plus<>>
auto exclusive_scan(const Policy& policy, In first, In last, Out out, T init, Op op = {}) {
  return plx::transform_exclusive_scan(policy, first, last, out, std::move(init), std::move(op), detail::unchanged());
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class T, class Op = std::plus<>>
auto exclusive_scan(const Policy& policy, Range&& range, Out out, T init, Op op = {}) {
  return plx::exclusive_scan(policy, std::begin(range), std::end(range), out, std::move(init), std::move(op));
}

}  // namespace plx
