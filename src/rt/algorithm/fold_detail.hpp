// One chunk into one value, in the caller.
//
// Thread safety: none needed. Cost: n - 1 operations. Sums and products of arithmetic types go to 16 partial results,
// which the compiler puts into vectors; how they are grouped depends on n alone. Example: algorithm/reduce_test.cpp.
#pragma once

#include <functional>

#include "rt/algorithm/common_detail.hpp"

namespace plx::detail {

template <class Op, class T>
inline constexpr bool is_plus = std::is_same_v<Op, std::plus<>> || std::is_same_v<Op, std::plus<T>>;
template <class Op, class T>
inline constexpr bool is_times = std::is_same_v<Op, std::multiplies<>> || std::is_same_v<Op, std::multiplies<T>>;
template <class Op, class T>
inline constexpr bool commutes =
    std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && (is_plus<Op, T> || is_times<Op, T>);

/// get(begin), ..., get(end - 1) combined by op. Requires: begin < end.
template <class T, class Get, class Op>
T fold(std::int64_t begin, std::int64_t end, Get& get, Op& op) {
  if constexpr (commutes<Op, T> && std::is_convertible_v<decltype(get(begin)), T>) {
    constexpr std::int64_t lanes = 16;
    if (end - begin >= 2 * lanes) {
      T part[lanes];
      for (std::int64_t j = 0; j < lanes; ++j) part[j] = static_cast<T>(get(begin + j));
      std::int64_t i = begin + lanes;
      for (; i + lanes <= end; i += lanes)
        for (std::int64_t j = 0; j < lanes; ++j) part[j] = static_cast<T>(op(part[j], static_cast<T>(get(i + j))));
      for (std::int64_t j = 0; i + j < end; ++j) part[j] = static_cast<T>(op(part[j], static_cast<T>(get(i + j))));
      for (std::int64_t width = lanes / 2; width > 0; width /= 2)
        for (std::int64_t j = 0; j < width; ++j) part[j] = static_cast<T>(op(part[j], part[j + width]));
      return part[0];
    }
  }
  T result = static_cast<T>(get(begin));
  for (std::int64_t i = begin + 1; i < end; ++i) result = static_cast<T>(op(std::move(result), get(i)));
  return result;
}

/// Elements so cheap to combine that a chunk below this many costs more to manage than to compute.
template <class T, class Op>
inline constexpr std::int64_t least_chunk = commutes<Op, T> ? 1024 : 1;

}  // namespace plx::detail
