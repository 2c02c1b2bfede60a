// The inputs of when_all, when_any, when_some and when_each: futures in a tuple, a vector or an array, and the node
// attached to each.
//
// Thread safety: none. Cost: a node per input. Example: when_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <vector>

#include "rt/future.hpp"

namespace plx::detail {

/// The continuation attached to one input.
template <class Owner>
struct input_node : continuation {
  Owner* owner = nullptr;
  std::size_t index = 0;
};

/// The node type for an owner with a member function `ready(node&)`.
template <class Owner>
void attach_input(Owner& owner, input_node<Owner>& n, std::size_t index, future_state_base& state) {
  n.owner = &owner;
  n.index = index;
  n.fire = [](continuation* c) {
    auto& fired = *static_cast<input_node<Owner>*>(c);
    fired.owner->ready(fired);
  };
  state.attach(n);
}

template <class A>
inline constexpr bool is_future_sequence = false;
template <class... F>
inline constexpr bool is_future_sequence<std::tuple<F...>> = (is_future<F> && ...);
template <class F>
inline constexpr bool is_future_sequence<std::vector<F>> = is_future<F>;
template <class F, std::size_t N>
inline constexpr bool is_future_sequence<std::array<F, N>> = is_future<F>;

template <class A>
inline constexpr bool is_future_vector = false;
template <class F>
inline constexpr bool is_future_vector<std::vector<F>> = is_future<F>;

/// Calls `visit(future, index)` for each future of a sequence.
template <class Visit, class... F>
void for_each_future(std::tuple<F...>& futures, Visit&& visit) {
  std::apply(
      [&](F&... f) {
        std::size_t i = 0;
        ((visit(f, i), ++i), ...);
      },
      futures);
}
template <class Visit, class Futures>
requires requires(Futures& f) { f.size(); }
void for_each_future(Futures& futures, Visit&& visit) {
  for (std::size_t i = 0; i < futures.size(); ++i) visit(futures[i], i);
}

template <class Sequence>
std::size_t count_of(const Sequence& s) {
  if constexpr (requires { s.size(); })
    return s.size();
  else
    return std::tuple_size_v<Sequence>;
}

/// One Node for each future.
template <class Sequence, class Node>
struct node_storage {
  using type = std::array<Node, std::tuple_size_v<Sequence>>;
  static type make(const Sequence&) { return {}; }
};
template <class F, class Node>
struct node_storage<std::vector<F>, Node> {
  using type = std::vector<Node>;
  static type make(const std::vector<F>& s) { return type(s.size()); }
};

/// Throws future_error(no_state) before anything is attached, so that an error leaves no partially constructed state.
template <class Sequence>
void require_states(Sequence& s) {
  for_each_future(s, [](auto& f, std::size_t) { (void)state_of(f).checked(); });
}

/// Creates a State from the inputs and starts it.
template <class State, class Result, class Sequence, class... More>
future<Result> start_state(Sequence s, More&&... more) {
  require_states(s);
  auto* made = make_state<State>(std::move(s), std::forward<More>(more)...);
  auto result = adopt_state<Result>(made);
  made->start();
  return result;
}

template <class It>
using futures_of = std::vector<std::iter_value_t<It>>;

/// The futures of an iterator range: futures are moved out of it, shared futures copied.
template <std::input_iterator It>
futures_of<It> gather(It first, It last) {
  if constexpr (std::is_copy_constructible_v<std::iter_value_t<It>>)
    return futures_of<It>(first, last);
  else
    return futures_of<It>(std::make_move_iterator(first), std::make_move_iterator(last));
}
template <std::input_iterator It>
futures_of<It> gather_n(It first, std::size_t n) {
  futures_of<It> all;
  all.reserve(n);
  for (; n != 0; --n, ++first) {
    if constexpr (std::is_copy_constructible_v<std::iter_value_t<It>>)
      all.push_back(*first);
    else
      all.push_back(std::move(*first));
  }
  return all;
}

}  // namespace plx::detail
