// when_all: one future that becomes ready when all of many are ready.
//
// Thread safety: everything. Cost: one allocation for the state and one word of atomic counting per input.
// Example: when_test.cpp.
#pragma once

#include <cstddef>

#include "rt/future/future_sequence.hpp"

namespace plx {

namespace detail {

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
