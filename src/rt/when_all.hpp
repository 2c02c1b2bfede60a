// when_all: one future that becomes ready when all of many are ready.
//
// Thread safety: everything. Cost: one allocation for the state and one word of atomic counting per input.
// Example: when_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <vector>

#include "rt/future.hpp"

namespace plx {
namespace detail {

// The inputs of when_all, when_any, when_some and when_each: futures in a tuple, a vector or an array, and the node
// attached to each.

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

/// Counts inputs down from n + 1; the creator holds the extra count while it attaches, so that nothing completes early.
template <class Sequence>
class all_state final : public future_state<Sequence> {
 public:
  explicit all_state(Sequence s)
      : future_state<Sequence>(destroy_state<all_state>, 2),
        inputs_(std::move(s)),
        nodes_(storage::make(inputs_)),
        missing_(count_of(inputs_) + 1) {}
  void start() {
    for_each_future(inputs_,
                    [this](auto& f, std::size_t i) { attach_input(*this, nodes_[i], i, state_of(f).checked()); });
    one_ready();
  }
  void ready(input_node<all_state>&) {
    this->input_came();
    one_ready();
  }

 private:
  void one_ready() {
    // acq_rel: the last one sees the writes of all others.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->emplace(std::move(inputs_));
    this->complete();
    this->release();
  }

  using storage = node_storage<Sequence, input_node<all_state>>;
  Sequence inputs_;
  typename storage::type nodes_;
  std::atomic<std::size_t> missing_;
};

template <class Sequence>
future<Sequence> all_of(Sequence s) {
  return start_state<all_state<Sequence>, Sequence>(std::move(s));
}

}  // namespace detail

/// Ready when all inputs are ready; holds them all. Futures are moved in, shared futures copied. An input with an
/// exception counts as ready; its get() throws. Errors: future_error(no_state) for an input without a state.
template <class... F>
requires(detail::is_future<std::decay_t<F>>&&...) future<std::tuple<std::decay_t<F>...>> when_all(F&&... futures) {
  return detail::all_of(std::tuple<std::decay_t<F>...>(std::forward<F>(futures)...));
}
/// As above, for a vector, an array or a tuple of futures.
template <class Sequence>
requires detail::is_future_sequence<Sequence> future<Sequence> when_all(Sequence futures) {
  return detail::all_of(std::move(futures));
}
template <std::input_iterator It>
future<detail::futures_of<It>> when_all(It first, It last) {
  return detail::all_of(detail::gather(first, last));
}
template <std::input_iterator It>
future<detail::futures_of<It>> when_all_n(It first, std::size_t n) {
  return detail::all_of(detail::gather_n(first, n));
}

}  // namespace plx
