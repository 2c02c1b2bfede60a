// when_any and when_some: a future that is ready when the first, or the first n, of many are.
//
// Thread safety: everything. Cost: one allocation for the state; one atomic operation per input, for when_some a short
// spinlock. Example: when_test.cpp, when_more_test.cpp.
#pragma once

#include <stdexcept>

#include "rt/detail/future_sequence.hpp"
#include "rt/detail/spinlock.hpp"

namespace plx {

/// Which one was ready first, and all of them.
template <class Sequence>
struct when_any_result {
  std::size_t index = static_cast<std::size_t>(-1);
  Sequence futures;
};

/// Which were ready first, in that order, and all of them.
template <class Sequence>
struct when_some_result {
  std::vector<std::size_t> indices;  // in the order of becoming ready
  Sequence futures;
};

namespace detail {

/// The first input to be ready decides; its index is delivered once the maker has attached to all of them, because then
/// the inputs are given away.
template <class Sequence>
class any_state final : public future_state<when_any_result<Sequence>> {
 public:
  explicit any_state(Sequence s)
      : future_state<when_any_result<Sequence>>(destroy_state<any_state>, static_cast<std::uint32_t>(count_of(s)) + 2),
        inputs_(std::move(s)),
        nodes_(storage::make(inputs_)) {}
  void start() {
    for_each_future(inputs_,
                    [this](auto& f, std::size_t i) { attach_input(*this, nodes_[i], i, state_of(f).checked()); });
    if (count_of(inputs_) == 0) pending_.store(1, std::memory_order_relaxed);  // nobody will ever win
    arrive();
    this->release();
  }
  void ready(input_node<any_state>& n) {
    std::size_t expected = none;
    if (winner_.compare_exchange_strong(expected, n.index, std::memory_order_acq_rel)) arrive();
    this->release();  // the input's own hold on this state, whose nodes it used
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  void arrive() {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->emplace(when_any_result<Sequence>{winner_.load(std::memory_order_relaxed), std::move(inputs_)});
    this->complete();
  }

  using storage = node_storage<Sequence, input_node<any_state>>;
  Sequence inputs_;
  typename storage::type nodes_;
  std::atomic<std::size_t> winner_{none};
  std::atomic<int> pending_{2};  // the winner and the maker
};

/// As any_state, with n winners.
template <class Sequence>
class some_state final : public future_state<when_some_result<Sequence>> {
 public:
  some_state(Sequence s, std::size_t n)
      : future_state<when_some_result<Sequence>>(destroy_state<some_state>,
                                                 static_cast<std::uint32_t>(count_of(s)) + 2),
        inputs_(std::move(s)),
        nodes_(storage::make(inputs_)),
        n_(n) {
    winners_.reserve(n);  // so that an input that becomes ready allocates nothing
  }
  void start() {
    for_each_future(inputs_,
                    [this](auto& f, std::size_t i) { attach_input(*this, nodes_[i], i, state_of(f).checked()); });
    if (n_ == 0) pending_.store(1, std::memory_order_relaxed);
    arrive();
    this->release();
  }
  void ready(input_node<some_state>& n) {
    bool last = false;
    {
      spin_guard guard(guard_);
      if (winners_.size() < n_) {
        winners_.push_back(n.index);
        last = winners_.size() == n_;
      }
    }
    if (last) arrive();
    this->release();  // as in any_state
  }

 private:
  void arrive() {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::vector<std::size_t> winners;
    {
      // A late input may look at the list still; with n_ winners it adds nothing.
      spin_guard guard(guard_);
      winners = winners_;
    }
    this->emplace(when_some_result<Sequence>{std::move(winners), std::move(inputs_)});
    this->complete();
  }

  using storage = node_storage<Sequence, input_node<some_state>>;
  Sequence inputs_;
  typename storage::type nodes_;
  const std::size_t n_;
  spinlock guard_;
  std::vector<std::size_t> winners_;
  std::atomic<int> pending_{2};  // the n-th winner and the maker
};

template <class Sequence>
future<when_any_result<Sequence>> any_of(Sequence s) {
  return start_state<any_state<Sequence>, when_any_result<Sequence>>(std::move(s));
}
template <class Sequence>
future<when_some_result<Sequence>> some_of(std::size_t n, Sequence s) {
  if (n > count_of(s)) throw std::invalid_argument("when_some: more futures are asked for than there are inputs");
  return start_state<some_state<Sequence>, when_some_result<Sequence>>(std::move(s), n);
}

}  // namespace detail

/// Ready when one input is; holds its index and all inputs. Without inputs the index is size_t(-1). Futures are moved
/// in, shared futures copied. Inputs without a state: future_error(no_state).
template <class... F>
requires(detail::is_future<std::decay_t<F>>&&...) future<when_any_result<std::tuple<std::decay_t<F>...>>> when_any(
    F&&... futures) {
  return detail::any_of(std::tuple<std::decay_t<F>...>(std::forward<F>(futures)...));
}
template <class Sequence>
requires detail::is_future_sequence<Sequence> future<when_any_result<Sequence>> when_any(Sequence futures) {
  return detail::any_of(std::move(futures));
}
template <std::input_iterator It>
future<when_any_result<detail::futures_of<It>>> when_any(It first, It last) {
  return detail::any_of(detail::gather(first, last));
}
template <std::input_iterator It>
future<when_any_result<detail::futures_of<It>>> when_any_n(It first, std::size_t n) {
  return detail::any_of(detail::gather_n(first, n));
}

/// Ready when n inputs are; holds their indices in the order of becoming ready, and all inputs. More than there are:
/// std::invalid_argument.
template <class... F>
requires(detail::is_future<std::decay_t<F>>&&...) future<when_some_result<std::tuple<std::decay_t<F>...>>> when_some(
    std::size_t n, F&&... futures) {
  return detail::some_of(n, std::tuple<std::decay_t<F>...>(std::forward<F>(futures)...));
}
template <class Sequence>
requires detail::is_future_sequence<Sequence> future<when_some_result<Sequence>> when_some(std::size_t n,
                                                                                           Sequence futures) {
  return detail::some_of(n, std::move(futures));
}
template <std::input_iterator It>
future<when_some_result<detail::futures_of<It>>> when_some(std::size_t n, It first, It last) {
  return detail::some_of(n, detail::gather(first, last));
}
template <std::input_iterator It>
future<when_some_result<detail::futures_of<It>>> when_some_n(std::size_t n, It first, std::size_t count) {
  return detail::some_of(n, detail::gather_n(first, count));
}

}  // namespace plx
