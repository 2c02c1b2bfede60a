// The types that are serialized as their bytes.
//
// Thread safety: compile time only. Example: net/core/test/wire_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace plx {

namespace net::detail {
template <class T>
inline constexpr bool is_bool_enum = false;
template <class T>
requires std::is_enum_v<T>
inline constexpr bool is_bool_enum<T> = std::is_same_v<std::underlying_type_t<T>, bool>;
}  // namespace net::detail

/// bool, and enumerations based on it. A byte that is neither 0 nor 1 is undefined behaviour as a bool, so each one
/// received is checked.
template <class T>
inline constexpr bool is_boolean = std::is_same_v<T, bool> || net::detail::is_bool_enum<T>;

/// A program names the last enumerator of an enumeration whose values count from 0, so that other values are refused
/// when they are received; values of other enumerations are not checked:
///   template <> inline constexpr auto plx::last_enumerator<my_enum> = my_enum::last;
template <class E>
inline constexpr auto last_enumerator = nullptr;
/// Whether received values of an enumeration are checked. Then it is not bitwise in arrays, and may not be a member of
/// a bitwise type.
template <class T>
inline constexpr bool is_checked_enum =
    std::is_enum_v<T> && !std::is_same_v<decltype(last_enumerator<T>), const std::nullptr_t>;

/// True for types whose bytes are their value: arithmetic types, enumerations, std::complex, and arrays of those.
/// A program specializes it for its own trivially copyable types without pointers and without bool (use an integer):
///   template <> inline constexpr bool plx::is_bitwise<my_cell> = true;
template <class T>
inline constexpr bool is_bitwise = std::is_arithmetic_v<T> || std::is_enum_v<T>;
/// std::complex, recognized by its members: including <complex> is slow.
template <class T>
requires requires(const T& z) {
  typename T::value_type;
  z.real(), z.imag();
}
inline constexpr bool is_bitwise<T> = std::is_arithmetic_v<typename T::value_type> && std::is_trivially_copyable_v<T> &&
                                      sizeof(T) == 2 * sizeof(typename T::value_type);
template <class T, std::size_t n>
inline constexpr bool is_bitwise<std::array<T, n>> = is_bitwise<T> && !is_boolean<T> && !is_checked_enum<T>;

namespace net::detail {

template <std::size_t n>
struct raw_bytes {
  unsigned char at[n];
};
template <std::size_t n>
constexpr raw_bytes<n> filled(unsigned char with) {
  raw_bytes<n> b{};
  for (unsigned char& c : b.at) c = with;
  return b;
}
// Converts bytes that are all 2 to a T and back. No constant of type bool has this value: clang rejects the T, GCC
// returns other bytes. Padding bytes are not constants. Types that cannot be converted in a constant expression
// (unions, types without a constexpr constructor, with clang bit-fields) are not checked.
template <class T>
concept takes_zeros = requires {
  typename std::bool_constant<(static_cast<void>(__builtin_bit_cast(T, filled<sizeof(T)>(0))), true)>;
};
template <class T>
concept takes_twos = requires {
  typename std::bool_constant<(static_cast<void>(__builtin_bit_cast(T, filled<sizeof(T)>(2))), true)>;
};
/// Whether the bytes from `begin` to `end` are still 2.
template <class T>
constexpr bool bytes_stay(std::size_t begin, std::size_t end) {
  const T value = __builtin_bit_cast(T, filled<sizeof(T)>(2));
  const auto back = __builtin_bit_cast(raw_bytes<sizeof(T)>, value);
  for (std::size_t i = begin; i < end; ++i)
    if (back.at[i] != 2) return false;
  return true;
}
template <class T, std::size_t begin, std::size_t end>
concept are_known = requires {
  typename std::bool_constant<bytes_stay<T>(begin, end)>;
};
template <class T, std::size_t... i>
constexpr bool any_changes(std::index_sequence<i...>) {
  const auto changes = []<std::size_t at>(std::integral_constant<std::size_t, at>) {
    if constexpr (are_known<T, at, at + 1>) return !bytes_stay<T>(at, at + 1);
    return false;
  };
  return (changes(std::integral_constant<std::size_t, i>()) || ...);
}

/// Whether the compiler finds a bool among the members of T, at any depth. In a T with padding only the first 256 bytes
/// are checked, one by one.
template <class T>
constexpr bool has_bool_member() {
  if constexpr (!std::is_class_v<T> || !takes_zeros<T>)
    return false;
  else if constexpr (!takes_twos<T>)
    return true;
  else if constexpr (are_known<T, 0, sizeof(T)>)
    return !bytes_stay<T>(0, sizeof(T));
  else
    return any_changes<T>(std::make_index_sequence<(sizeof(T) < 256 ? sizeof(T) : 256)>());
}

}  // namespace net::detail

}  // namespace plx
