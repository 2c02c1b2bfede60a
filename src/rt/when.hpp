// when_all, when_any and dataflow: one future out of many.
//
// Thread safety: everything. Cost: one allocation for the state and one word of atomic counting per input.
// Example: when_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <tuple>
#include <vector>

#include "rt/async.hpp"

namespace plx {

template <class Sequence>
struct when_any_result {
  std::size_t index = static_cast<std::size_t>(-1);
  Sequence futures;
};

namespace detail {

/// The place of one input: what the input's state fires.
template <class Owner>
struct input_node : continuation {
  Owner* owner = nullptr;
  std::size_t index = 0;
};

/// Calls `visit(future, index)` for each future of a tuple or a vector.
template <class Visit, class... F>
void for_each_future(std::tuple<F...>& futures, Visit&& visit) {
  std::apply(
      [&](F&... f) {
        std::size_t i = 0;
        ((visit(f, i), ++i), ...);
      },
      futures);
}
template <class Visit, class F>
void for_each_future(std::vector<F>& futures, Visit&& visit) {
  for (std::size_t i = 0; i < futures.size(); ++i) visit(futures[i], i);
}

template <class>
struct node_storage;
template <class... F>
struct node_storage<std::tuple<F...>> {
  template <class Node>
  using type = std::array<Node, sizeof...(F)>;
};
template <class F>
struct node_storage<std::vector<F>> {
  template <class Node>
  using type = std::vector<Node>;
};

template <class Sequence>
std::size_t count_of(const Sequence& s) {
  if constexpr (requires { s.size(); })
    return s.size();
  else
    return std::tuple_size_v<Sequence>;
}

/// Counts inputs down from n + 1; the maker holds the extra one while it attaches, so that nothing completes early.
template <class Sequence>
class all_state final : public future_state<Sequence> {
 public:
  explicit all_state(Sequence s)
      : future_state<Sequence>(destroy_state<all_state>, 2), inputs_(std::move(s)), missing_(count_of(inputs_) + 1) {
    if constexpr (requires { nodes_.resize(1); }) nodes_.resize(count_of(inputs_));
  }
  void start() {
    for_each_future(inputs_, [this](auto& f, std::size_t i) {
      nodes_[i].owner = this;
      nodes_[i].fire = [](continuation* c) { static_cast<node*>(c)->owner->one_ready(); };
      state_of(f).checked().attach(nodes_[i]);
    });
    one_ready();
  }

 private:
  using node = input_node<all_state>;
  void one_ready() {
    // acq_rel: the last one sees what all the others published.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->emplace(std::move(inputs_));
    this->complete();
    this->release();
  }

  Sequence inputs_;
  typename node_storage<Sequence>::template type<node> nodes_;
  std::atomic<std::size_t> missing_;
};

/// The first input to be ready decides; its index is delivered once the maker has attached to all of them, because then
/// the inputs are given away.
template <class Sequence>
class any_state final : public future_state<when_any_result<Sequence>> {
 public:
  explicit any_state(Sequence s)
      : future_state<when_any_result<Sequence>>(destroy_state<any_state>, static_cast<std::uint32_t>(count_of(s)) + 2),
        inputs_(std::move(s)) {
    if constexpr (requires { nodes_.resize(1); }) nodes_.resize(count_of(inputs_));
  }
  void start() {
    for_each_future(inputs_, [this](auto& f, std::size_t i) {
      nodes_[i].owner = this;
      nodes_[i].index = i;
      nodes_[i].fire = [](continuation* c) { static_cast<node*>(c)->owner->ready(static_cast<node*>(c)->index); };
      state_of(f).checked().attach(nodes_[i]);
    });
    if (count_of(inputs_) == 0) pending_.store(1, std::memory_order_relaxed);  // nobody will ever win
    arrive();
    this->release();
  }

 private:
  using node = input_node<any_state>;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void ready(std::size_t index) {
    std::size_t expected = none;
    if (winner_.compare_exchange_strong(expected, index, std::memory_order_acq_rel)) arrive();
    this->release();  // the input's own hold on this state, whose nodes it used
  }
  void arrive() {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->emplace(when_any_result<Sequence>{winner_.load(std::memory_order_relaxed), std::move(inputs_)});
    this->complete();
  }

  Sequence inputs_;
  typename node_storage<Sequence>::template type<node> nodes_;
  std::atomic<std::size_t> winner_{none};
  std::atomic<int> pending_{2};  // the winner and the maker
};

/// A task that is submitted when the last of its future arguments is ready.
template <class R, class F, class... A>
class dataflow_state final : public future_state<R> {
 public:
  template <class G, class... B>
  explicit dataflow_state(task_info info, G&& g, B&&... b)
      : future_state<R>(destroy_state<dataflow_state>, 2), f_(std::forward<G>(g)), args_(std::forward<B>(b)...) {
    task_.run = run;
    task_.owner = this;
    task_.info = info;
  }
  void start() {
    std::apply(
        [&](A&... a) {
          [[maybe_unused]] std::size_t i = 0;
          (attach_to(a, i), ...);
        },
        args_);
    one_ready();
  }

 private:
  using node = input_node<dataflow_state>;
  static constexpr std::size_t n_futures = (std::size_t{0} + ... + (is_future<A> ? 1 : 0));

  template <class B>
  void attach_to(B& arg, std::size_t& i) {
    if constexpr (is_future<B>) {
      node& n = nodes_[i++];
      n.owner = this;
      n.fire = [](continuation* c) { static_cast<node*>(c)->owner->one_ready(); };
      state_of(arg).checked().attach(n);
    }
  }
  void one_ready() {
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) submit_task(&task_);
  }
  static void run(task* t, run_mode) {
    auto* self = const_cast<dataflow_state*>(static_cast<const dataflow_state*>(t->owner));
    self->complete_with_result_of(
        [self]() -> R { return std::apply([self](A&... a) -> R { return self->f_(std::move(a)...); }, self->args_); });
    self->release();
  }

  task task_;
  F f_;
  std::tuple<A...> args_;
  std::array<node, n_futures> nodes_;
  std::atomic<std::size_t> missing_{n_futures + 1};
};

/// Throws future_error(no_state) before anything was attached, so that a mistake leaves no half-made state.
template <class Sequence>
void require_states(Sequence& s) {
  for_each_future(s, [](auto& f, std::size_t) { (void)state_of(f).checked(); });
}

template <class A>
void require_state(const A& argument) {
  if constexpr (is_future<A>)
    if (!argument.valid()) throw_future_error(future_errc::no_state);
}

template <template <class> class State, class Sequence, class Result>
future<Result> start_state(Sequence s) {
  require_states(s);
  auto* made = make_state<State<Sequence>>(std::move(s));
  auto result = adopt_state<Result>(made);
  made->start();
  return result;
}

}  // namespace detail

/// Ready when all inputs are; holds them all. Futures are moved in, shared futures copied. An input with an exception
/// counts as ready; its get() throws.
template <class... F>
requires(detail::is_future<std::decay_t<F>>&&...) future<std::tuple<std::decay_t<F>...>> when_all(F&&... futures) {
  using sequence = std::tuple<std::decay_t<F>...>;
  return detail::start_state<detail::all_state, sequence, sequence>(sequence(std::forward<F>(futures)...));
}
template <class Future>
requires detail::is_future<Future> future<std::vector<Future>> when_all(std::vector<Future> futures) {
  return detail::start_state<detail::all_state, std::vector<Future>, std::vector<Future>>(std::move(futures));
}
template <std::input_iterator It>
future<std::vector<std::iter_value_t<It>>> when_all(It first, It last) {
  return when_all(std::vector<std::iter_value_t<It>>(std::make_move_iterator(first), std::make_move_iterator(last)));
}

/// Ready when one input is; holds its index and all inputs. Without inputs the index is size_t(-1).
template <class... F>
requires(detail::is_future<std::decay_t<F>>&&...) future<when_any_result<std::tuple<std::decay_t<F>...>>> when_any(
    F&&... futures) {
  using sequence = std::tuple<std::decay_t<F>...>;
  return detail::start_state<detail::any_state, sequence, when_any_result<sequence>>(
      sequence(std::forward<F>(futures)...));
}
template <class Future>
requires detail::is_future<Future> future<when_any_result<std::vector<Future>>> when_any(std::vector<Future> futures) {
  using sequence = std::vector<Future>;
  return detail::start_state<detail::any_state, sequence, when_any_result<sequence>>(std::move(futures));
}
template <std::input_iterator It>
future<when_any_result<std::vector<std::iter_value_t<It>>>> when_any(It first, It last) {
  return when_any(std::vector<std::iter_value_t<It>>(std::make_move_iterator(first), std::make_move_iterator(last)));
}

/// Calls `f(args...)` in a task once every argument that is a future is ready. Futures are passed on as futures, other
/// arguments as they are.
template <class F, class... A>
auto dataflow(task_info info, F&& f, A&&... args) {
  using R = std::invoke_result_t<std::decay_t<F>&, std::decay_t<A>...>;
  using state = detail::dataflow_state<R, std::decay_t<F>, std::decay_t<A>...>;
  (detail::require_state(args), ...);
  auto* made = detail::make_state<state>(detail::named<F>(info), std::forward<F>(f), std::forward<A>(args)...);
  auto result = detail::adopt_state<R>(made);
  made->start();
  return result;
}
template <class F, class... A>
requires detail::is_plain_callable<F>
auto dataflow(F&& f, A&&... args) { return dataflow(task_info{}, std::forward<F>(f), std::forward<A>(args)...); }

}  // namespace plx
