// Calls that go on at the far side: the result of one goes straight to the next, on another locality, without passing
// the caller.
//
//   plx::async_then<&read_block, &counter::add>(disk, c, path).get();  // read_block(path) on `disk`, its result to c
//
// Thread safety: everything. Cost: one message for each hop there, and one for each hop of the last result back.
// Example: net/names_test.cpp
#pragma once

#include <tuple>
#include <utility>

#include "net/component.hpp"

namespace plx {
namespace net::detail {

/// F here, G where `to` says: a locality for a function, a plx::global for a member function.
template <auto F, auto G, class To>
auto call_then(To to, arguments_of<F> arguments) {
  const auto first = [&]() -> result_of<F> {
    if constexpr (plx::detail::is_future<typename signature_of<decltype(+F)>::result>)
      return std::apply(F, std::move(arguments)).get();
    else
      return std::apply(F, std::move(arguments));
  };
  if constexpr (std::is_void_v<result_of<F>>)
    return first(), plx::async<G>(to);
  else
    return plx::async<G>(to, first());
}
template <auto F, auto G, class To>
void post_call_then(To to, arguments_of<F> arguments) {
  call_then<F, G, To>(std::move(to), std::move(arguments)).get();
}

}  // namespace net::detail

/// G(F(arguments...)): F on the locality `first`, G where `second` says. Errors: as those of the two calls.
template <auto F, auto G, class To, class... A>
auto async_then(locality_id first, const To& second, A&&... arguments) {
  using to = std::conditional_t<std::is_integral_v<To>, locality_id, To>;
  return async<&net::detail::call_then<F, G, to>>(first, static_cast<to>(second),
                                                  net::detail::arguments_of<F>(std::forward<A>(arguments)...));
}
/// The same; nobody waits. An exception out of either ends the process of `first`.
template <auto F, auto G, class To, class... A>
void post_then(locality_id first, const To& second, A&&... arguments) {
  using to = std::conditional_t<std::is_integral_v<To>, locality_id, To>;
  post<&net::detail::post_call_then<F, G, to>>(first, static_cast<to>(second),
                                               net::detail::arguments_of<F>(std::forward<A>(arguments)...));
}

}  // namespace plx
