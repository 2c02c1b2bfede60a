// Remote continuations: the result of one call is passed directly to the next, on another locality, without returning
// to the caller.
//
//   plx::async_then<&read_block, &counter::add>(disk, c, path).get();  // read_block(path) on `disk`, its result to c
//   plx::async_then<&counter::value, &log_line>(c, 0).get();           // the value of c to log_line on locality 0
//
// Each of the two is a function on a locality or a member function on an object (plx::global), wherever that is. The
// object of the first may move as soon as its own function has returned.
//
// Thread safety: everything. Cost: one message for each hop, and one for each hop of the last result back.
// Example: net/test/names_test.cpp
#pragma once

#include <tuple>
#include <utility>

#include "net/component.hpp"

namespace plx {
namespace net::detail {

/// Runs F here, then G on `to`: a locality for a function, a plx::global for a member function.
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
void post_call_then(To to, arguments_of<F> arguments) noexcept {
  call_then<F, G, To>(std::move(to), std::move(arguments)).get();
}

/// The result of calling G with an R.
template <auto G, class To, class R>
struct onward {
  using type = decltype(plx::async<G>(std::declval<const To&>(), std::declval<R>()));
};
template <auto G, class To>
struct onward<G, To, void> {
  using type = decltype(plx::async<G>(std::declval<const To&>()));
};

/// A call of the member F, whose result is passed to G from the locality of the object.
template <auto F, auto G, class T, class To>
struct chained_call {
  using first = member_call<F, T>;
  using object = T;
  using raw = typename onward<G, To, typename first::result>::type;
  using result = typename without_future<raw>::type;
  using arguments = std::tuple<To, typename first::arguments>;
  static constexpr bool moves = false;
  static constexpr std::string_view signature() {
    return signature_text<decltype(&run_and_release), &run_and_release>();
  }
  static raw run_and_release(agas& a, const access& got, arguments&& args, pinned&& held) {
    pinned stays = std::move(held);
    To to = std::move(std::get<0>(args));
    if constexpr (plx::detail::is_future<typename first::raw>) {
      return first::invoke(a, got, std::move(std::get<1>(args)))
          .then(launch::sync,
                [stays = std::move(stays), to = std::move(to)](typename first::raw done) mutable {
                  return go_on(std::move(stays), std::move(to), [&done] { return done.get(); });
                })
          .unwrap();
    } else {
      return go_on(std::move(stays), std::move(to),
                   [&] { return first::invoke(a, got, std::move(std::get<1>(args))); });
    }
  }

 private:
  template <class R>
  static raw go_on(pinned stays, To to, R result) {
    if constexpr (std::is_void_v<typename first::result>) {
      result();
      stays = {};
      return plx::async<G>(to);
    } else {
      auto value = result();
      stays = {};
      return plx::async<G>(to, std::move(value));
    }
  }
};

}  // namespace net::detail

/// G(F(arguments...)): F on the locality `first`, G on `second`. Errors: those of the two calls.
template <auto F, auto G, class To, class... A>
auto async_then(locality_id first, const To& second, A&&... arguments) {
  using to = std::conditional_t<std::is_integral_v<To>, locality_id, To>;
  return async<&net::detail::call_then<F, G, to>>(first, static_cast<to>(second),
                                                  net::detail::arguments_of<F>(std::forward<A>(arguments)...));
}
/// G(first.F(arguments...)): F on the locality of the object.
template <auto F, auto G, class T, class To, class... A>
requires std::is_member_function_pointer_v<decltype(F)>
auto async_then(const global<T>& first, const To& second, A&&... arguments) {
  using to = std::conditional_t<std::is_integral_v<To>, locality_id, To>;
  using call = net::detail::chained_call<F, G, T, to>;
  return net::detail::call_object<call>(
      first, std::tuple(static_cast<to>(second), typename call::first::arguments(std::forward<A>(arguments)...)));
}
/// The same without a result. An exception that leaves either ends the process of `first`.
template <auto F, auto G, class To, class... A>
void post_then(locality_id first, const To& second, A&&... arguments) {
  using to = std::conditional_t<std::is_integral_v<To>, locality_id, To>;
  post<&net::detail::post_call_then<F, G, to>>(first, static_cast<to>(second),
                                               net::detail::arguments_of<F>(std::forward<A>(arguments)...));
}

/// The same without a result. An exception that leaves F ends the process that the object is on; one of G is dropped.
template <auto F, auto G, class T, class To, class... A>
requires std::is_member_function_pointer_v<decltype(F)>
void post_then(const global<T>& first, const To& second, A&&... arguments) {
  using to = std::conditional_t<std::is_integral_v<To>, locality_id, To>;
  using call = net::detail::chained_call<F, G, T, to>;
  net::detail::post_object<call>(
      first, std::tuple(static_cast<to>(second), typename call::first::arguments(std::forward<A>(arguments)...)));
}

}  // namespace plx
