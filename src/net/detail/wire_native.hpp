// Which types net/wire.hpp knows throughout, so that an archive leaves them to it.
//
// Thread safety: compile time only. Example: net/archive_test.cpp
#pragma once

#include "net/wire.hpp"

namespace plx::net {

/// True for bitwise types, for those with a wire_codec of their own, and for the containers of wire.hpp that hold such.
template <class T>
inline constexpr bool is_wire_native = is_bitwise<T> || (can_travel<T> && !requires { wire_codec<T>::by_archive; });
template <class T, class A>
inline constexpr bool is_wire_native<std::vector<T, A>> = is_wire_native<T>;
template <class A, class B>
inline constexpr bool is_wire_native<std::pair<A, B>> = is_wire_native<A>&& is_wire_native<B>;
template <class... T>
inline constexpr bool is_wire_native<std::tuple<T...>> = (is_wire_native<T> && ...);
template <class T, std::size_t n>
inline constexpr bool is_wire_native<std::array<T, n>> = is_wire_native<T>;
template <class T>
inline constexpr bool is_wire_native<std::optional<T>> = is_wire_native<T>;

}  // namespace plx::net
