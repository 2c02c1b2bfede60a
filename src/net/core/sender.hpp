// The calling locality, verified by the runtime, as an argument of an action.
//
//   void arrived(plx::net::sender from, std::uint64_t turn);
//   plx::post<&arrived>(0, plx::net::sender{here}, turn);
//
// On arrival it is compared with the locality from which the transport received the parcel. A parcel that names another
// locality is refused, counted and logged with its sender (net/core/node.hpp) before the action is called.
//
// Thread safety: values. Cost: 4 bytes and a comparison. Example: net/test/unsound_values_test.cpp
#pragma once

#include <tuple>
#include <type_traits>

#include "net/bitwise.hpp"
#include "net/locality.hpp"

namespace plx {
namespace net {

struct sender {
  locality_id who = no_locality;
};

namespace detail {
/// Whether all senders among an action's arguments are `from`.
template <class... T>
[[nodiscard]] bool senders_are(const std::tuple<T...>& arguments, locality_id from) noexcept {
  const auto right = [from]<class E>(const E& e) {
    if constexpr (std::is_same_v<E, sender>)
      return e.who == from;
    else
      return (static_cast<void>(e), static_cast<void>(from), true);
  };
  return std::apply([&]([[maybe_unused]] const T&... e) { return (right(e) && ...); }, arguments);
}
}  // namespace detail

}  // namespace net

template <>
inline constexpr bool is_bitwise<net::sender> = true;

}  // namespace plx
