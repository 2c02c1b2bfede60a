// transform, copy, copy_n, move, replace_if, fill, fill_n, generate, generate_n: write each element independently.
//
// Thread safety: functions are called from several workers concurrently. Cost: as for_each. Iterators without random
// access, and those of a vector<bool>, are traversed in order by the caller. The output may be the input; otherwise
// they must not overlap. Example: algorithm/test/for_each_test.cpp.
#pragma once

#include <functional>
#include <memory>

#include "rt/algorithm/detail/common.hpp"

namespace plx {
namespace detail {

/// write(i, out + i) for each chunk of [0, n) as write(begin, end); returns the end of the output.
template <bool Unsequenced, class In, class Out, class F>
Out map(const spread& how, In first, std::int64_t n, Out out, F& f) {
  if (n <= 0) return out;
  if constexpr (all_shareable<Out> && std::random_access_iterator<In>) {
    in_pieces(how, n, [&f, first, out](std::int64_t begin, std::int64_t end) {
      each_index<Unsequenced>(0, end - begin, [&f, in = at(first, begin), to = at(out, begin)](std::int64_t i) {
        *at(to, i) = f(*at(in, i));
      });
    });
    return at(out, n);
  } else {
    for (; n > 0; --n, ++first, ++out) *out = f(*first);
    return out;
  }
}

template <bool Unsequenced, class In1, class In2, class Out, class F>
Out map2(const spread& how, In1 first1, std::int64_t n, In2 first2, Out out, F& f) {
  if (n <= 0) return out;
  if constexpr (all_shareable<Out> && std::random_access_iterator<In1> && std::random_access_iterator<In2>) {
    in_pieces(how, n, [&f, first1, first2, out](std::int64_t begin, std::int64_t end) {
      each_index<Unsequenced>(0, end - begin,
                              [&f, a = at(first1, begin), b = at(first2, begin), to = at(out, begin)](std::int64_t i) {
                                *at(to, i) = f(*at(a, i), *at(b, i));
                              });
    });
    return at(out, n);
  } else {
    for (; n > 0; --n, ++first1, ++first2, ++out) *out = f(*first1, *first2);
    return out;
  }
}

template <bool Unsequenced, class Out, class F>
Out make(const spread& how, Out first, std::int64_t n, F& f) {
  if (n <= 0) return first;
  if constexpr (all_shareable<Out>) {
    in_pieces(how, n, [&f, first](std::int64_t begin, std::int64_t end) {
      each_index<Unsequenced>(0, end - begin, [&f, to = at(first, begin)](std::int64_t i) { *at(to, i) = f(); });
    });
    return at(first, n);
  } else {
    for (; n > 0; --n, ++first) *first = f();
    return first;
  }
}

template <class It>
std::int64_t length(It first, It last) {
  return static_cast<std::int64_t>(std::distance(first, last));
}

struct as_rvalue {
  template <class T>
  std::remove_reference_t<T>&& operator()(T&& t) const noexcept {
    return static_cast<std::remove_reference_t<T>&&>(t);
  }
};

}  // namespace detail

/// out[i] = f(in[i]). Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class F>
auto transform(const Policy& policy, In first, In last, Out out, F f) {
  return detail::perform(policy, [first, last, out, f = std::move(f)](const detail::spread& how) mutable {
    return detail::map<Policy::is_unsequenced>(how, first, detail::length(first, last), out, f);
  });
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class F>
auto transform(const Policy& policy, Range&& range, Out out, F f) {
  return plx::transform(policy, std::begin(range), std::end(range), out, std::move(f));
}

/// out[i] = f(in1[i], in2[i]). Returns the end of the output.
template <execution_policy Policy, detail::forward_it In1, detail::forward_it In2, detail::output_it Out, class F>
auto transform(const Policy& policy, In1 first1, In1 last1, In2 first2, Out out, F f) {
  return detail::perform(policy, [first1, last1, first2, out, f = std::move(f)](const detail::spread& how) mutable {
    return detail::map2<Policy::is_unsequenced>(how, first1, detail::length(first1, last1), first2, out, f);
  });
}
/// Over the length of the shorter range.
template <execution_policy Policy, detail::sized_range Range1, detail::sized_range Range2, detail::output_it Out,
          class F>
auto transform(const Policy& policy, Range1&& range1, Range2&& range2, Out out, F f) {
  const auto n1 = detail::length(std::begin(range1), std::end(range1));
  const auto n2 = detail::length(std::begin(range2), std::end(range2));
  return detail::perform(policy, [first1 = std::begin(range1), n = n1 < n2 ? n1 : n2, first2 = std::begin(range2), out,
                                  f = std::move(f)](const detail::spread& how) mutable {
    return detail::map2<Policy::is_unsequenced>(how, first1, n, first2, out, f);
  });
}

/// out[i] = in[i]. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out>
auto copy(const Policy& policy, In first, In last, Out out) {
  return plx::transform(policy, first, last, out, std::identity());
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out>
auto copy(const Policy& policy, Range&& range, Out out) {
  return plx::transform(policy, range, out, std::identity());
}
template <execution_policy Policy, detail::forward_it In, class Size, detail::output_it Out>
auto copy_n(const Policy& policy, In first, Size n, Out out) {
  return detail::perform(policy, [first, n, out](const detail::spread& how) {
    const std::identity same;
    return detail::map<Policy::is_unsequenced>(how, first, static_cast<std::int64_t>(n), out, same);
  });
}
/// out[i] = std::move(in[i]). Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out>
auto move(const Policy& policy, In first, In last, Out out) {
  return plx::transform(policy, first, last, out, detail::as_rvalue());
}

/// Assigns `value` to every element.
template <execution_policy Policy, detail::output_it It, class T>
auto fill(const Policy& policy, It first, It last, const T& value) {
  return detail::perform(policy, [first, last, value](const detail::spread& how) {
    const auto same = [&value]() -> const T& { return value; };
    detail::make<true>(how, first, detail::length(first, last), same);
  });
}
template <execution_policy Policy, detail::sized_range Range, class T>
auto fill(const Policy& policy, Range&& range, const T& value) {
  return plx::fill(policy, std::begin(range), std::end(range), value);
}
/// Assigns `value` to `n` elements; returns the iterator past them.
template <execution_policy Policy, detail::output_it It, class Size, class T>
auto fill_n(const Policy& policy, It first, Size n, const T& value) {
  return detail::perform(policy, [first, n, value](const detail::spread& how) {
    const auto same = [&value]() -> const T& { return value; };
    return detail::make<true>(how, first, static_cast<std::int64_t>(n), same);
  });
}

/// Assigns the result of a call f() to every element. Under par the calls are made in no particular order.
template <execution_policy Policy, detail::output_it It, class F>
auto generate(const Policy& policy, It first, It last, F f) {
  return detail::perform(policy, [first, last, f = std::move(f)](const detail::spread& how) mutable {
    detail::make<Policy::is_unsequenced>(how, first, detail::length(first, last), f);
  });
}
template <execution_policy Policy, detail::sized_range Range, class F>
auto generate(const Policy& policy, Range&& range, F f) {
  return plx::generate(policy, std::begin(range), std::end(range), std::move(f));
}
template <execution_policy Policy, detail::output_it It, class Size, class F>
auto generate_n(const Policy& policy, It first, Size n, F f) {
  return detail::perform(policy, [first, n, f = std::move(f)](const detail::spread& how) mutable {
    return detail::make<Policy::is_unsequenced>(how, first, static_cast<std::int64_t>(n), f);
  });
}

/// Assigns `value` to the elements for which pred(element) is true.

template <execution_policy Policy, detail::forward_it It, class Pred, class T>
auto replace_if(const Policy& policy, It first, It last, Pred pred, const T& value) {
  return detail::perform(policy, [first, last, pred = std::move(pred), value](const detail::spread& how) mutable {
    const std::int64_t n = detail::length(first, last);
    const auto one = [&pred, &value](It it) {
      if (pred(*it)) *it = value;
    };
    if constexpr (detail::shareable_it<It>)
      detail::in_pieces(how, n, [&one, first](std::int64_t i, std::int64_t end) {
        for (; i < end; ++i) one(detail::at(first, i));
      });
    else
      for (; first != last; ++first) one(first);
  });
}

}  // namespace plx
