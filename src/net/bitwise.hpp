// Which types travel as the bytes they are made of.
//
// Thread safety: compile time only. Example: net/wire_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

namespace plx {

/// True for types whose bytes are their value: arithmetic types, enumerations, std::complex, and arrays of those.
/// A program says so of its own trivially copyable types without pointers:
///   template <> inline constexpr bool plx::is_bitwise<my_cell> = true;
template <class T>
inline constexpr bool is_bitwise = std::is_arithmetic_v<T> || std::is_enum_v<T>;
/// std::complex, known by what it has: its header is a slow one.
template <class T>
requires requires(const T& z) {
  typename T::value_type;
  z.real(), z.imag();
}
inline constexpr bool is_bitwise<T> = std::is_arithmetic_v<typename T::value_type> && std::is_trivially_copyable_v<T> &&
                                      sizeof(T) == 2 * sizeof(typename T::value_type);
template <class T, std::size_t n>
inline constexpr bool is_bitwise<std::array<T, n>> = is_bitwise<T>;

}  // namespace plx
