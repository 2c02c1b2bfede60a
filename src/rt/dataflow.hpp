// dataflow: a call that is made when all its future arguments are ready.
//
// Thread safety: everything. Cost: one allocation for the state and one atomic operation per future; with a vector of
// futures among the arguments one allocation more. Example: when_test.cpp, when_more_test.cpp.
#pragma once

#include "rt/async.hpp"
#include "rt/detail/future_sequence.hpp"
#include "rt/unwrap.hpp"

namespace plx {
namespace detail {

/// How many futures an argument holds, as far as its type says; a vector's size is its own.
template <class A>
inline constexpr std::size_t futures_in = is_future<A> ? 1 : 0;
template <class... F>
inline constexpr std::size_t futures_in<std::tuple<F...>> = is_future_sequence<std::tuple<F...>> ? sizeof...(F) : 0;
template <class F, std::size_t N>
inline constexpr std::size_t futures_in<std::array<F, N>> = is_future<F> ? N : 0;

/// Calls `visit(future)` for each future in an argument.
template <class A, class Visit>
void for_each_future_in(A& argument, Visit&& visit) {
  if constexpr (is_future<A>)
    visit(argument);
  else if constexpr (is_future_sequence<A>)
    for_each_future(argument, [&](auto& f, std::size_t) { visit(f); });
}

/// A task that is submitted to its place when the last of its future arguments is ready.
template <class Place, class R, class F, class... A>
class dataflow_state final : public future_state<R> {
 public:
  template <class G, class... B>
  explicit dataflow_state(Place place, task_info info, G&& g, B&&... b)
      : future_state<R>(destroy_state<dataflow_state>, 2),
        place_(std::move(place)),
        f_(std::forward<G>(g)),
        args_(std::forward<B>(b)...) {
    task_.run = run;
    task_.owner = this;
    task_.info = info;
    std::size_t n = 0;
    for_each([&n](auto&) { ++n; });
    if constexpr (any_vector) nodes_.resize(n);
    missing_.store(n + 1, std::memory_order_relaxed);
  }
  void start() {
    std::size_t i = 0;
    for_each([&](auto& f) {
      attach_input(*this, nodes_[i], i, state_of(f).checked());
      ++i;
    });
    one_ready();
  }
  void ready(input_node<dataflow_state>&) {
    if (origins_wanted()) [[unlikely]]
      note_input(task_.from, true);
    one_ready();
  }

 private:
  template <class Visit>
  void for_each(Visit visit) {
    std::apply([&](A&... a) { (for_each_future_in(a, visit), ...); }, args_);
  }
  void one_ready() {
    // acq_rel: the last one sees what all the others published.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const Place where = place_;  // once submitted, the state may be gone
    where.submit(&task_);
  }
  static void run(task* t, run_mode mode) {
    auto* self = const_cast<dataflow_state*>(static_cast<const dataflow_state*>(t->owner));
    // Callable and arguments go before the result is seen. A long chain of tasks would otherwise keep all its results,
    // and its last future would destroy them one inside the other.
    self->complete_with_result_of(
        [self]() -> R {
          F f = std::move(self->f_);
          std::tuple<A...> args = std::move(self->args_);
          return std::apply([&f](A&... a) -> R { return f(std::move(a)...); }, args);
        },
        mode == run_mode::scheduled);
    self->release();
  }

  static constexpr bool any_vector = (is_future_vector<A> || ...);
  using node = input_node<dataflow_state>;

  task task_;
  [[no_unique_address]] Place place_;
  F f_;
  std::tuple<A...> args_;
  std::conditional_t<any_vector, std::vector<node>, std::array<node, (std::size_t{0} + ... + futures_in<A>)>> nodes_;
  std::atomic<std::size_t> missing_{0};
};

template <class Place, class F, class... A>
auto checked_dataflow_on(Place place, task_info info, F&& f, A&&... args) {
  using R = std::invoke_result_t<std::decay_t<F>&, std::decay_t<A>...>;
  using state = dataflow_state<Place, R, std::decay_t<F>, std::decay_t<A>...>;
  // Before anything is moved or attached, so that a mistake leaves no half-made state.
  (for_each_future_in(args,
                      [](auto& each) {
                        if (!each.valid()) throw_future_error(future_errc::no_state);
                      }),
   ...);
  auto* made = make_state<state>(std::move(place), named(info, f), std::forward<F>(f), std::forward<A>(args)...);
  auto result = adopt_state<R>(made);
  made->start();
  return result;
}

/// What `f` gives for the values of the futures: so that a call without unwrapping() is the only error of a program.
template <class F, class Values>
struct result_of_values {
  using type = void;
};
template <class F, class... V>
requires std::is_invocable_v<F, V...>
struct result_of_values<F, std::tuple<V...>> {
  using type = std::invoke_result_t<F, V...>;
};

template <class Place, class F, class... A>
auto dataflow_on(Place place, task_info info, F&& f, A&&... args) {
  constexpr bool takes_futures = std::is_invocable_v<std::decay_t<F>&, std::decay_t<A>...>;
  static_assert(
      takes_futures,
      "dataflow calls the function with the futures themselves; wrap it in plx::unwrapping(f) to receive values");
  if constexpr (takes_futures) {
    return checked_dataflow_on(std::move(place), info, std::forward<F>(f), std::forward<A>(args)...);
  } else {
    using values = decltype(std::tuple_cat(values_in(std::declval<std::decay_t<A>>())...));
    return future<typename result_of_values<std::decay_t<F>&, values>::type>();
  }
}

}  // namespace detail

/// Calls `f(args...)` in a task once every argument that is a future, or a vector, array or tuple of futures, is ready.
/// Futures are passed on as futures, other arguments as they are; see unwrapping() for values. Arguments are moved in
/// or copied. Futures without a state: future_error(no_state).
template <class F, class... A>
auto dataflow(task_info info, F&& f, A&&... args) {
  return detail::dataflow_on(detail::home_place(), info, std::forward<F>(f), std::forward<A>(args)...);
}
template <class F, class... A>
requires detail::is_plain_callable<F>
auto dataflow(F&& f, A&&... args) { return dataflow(task_info{}, std::forward<F>(f), std::forward<A>(args)...); }
/// launch::sync: in the task that completes the last argument, for a few instructions. Otherwise in a task of its own.
template <class F, class... A>
auto dataflow(launch where, F&& f, A&&... args) {
  if (detail::chosen(where) == launch::sync)
    return detail::dataflow_on(detail::completer_place(), {}, std::forward<F>(f), std::forward<A>(args)...);
  return detail::dataflow_on(detail::home_place(), {}, std::forward<F>(f), std::forward<A>(args)...);
}
/// On an executor; see rt/executor.hpp.
template <any_executor E, class F, class... A>
auto dataflow(const E& ex, F&& f, A&&... args) {
  return detail::dataflow_on(detail::executor_place<E>{ex}, detail::info_of(ex), std::forward<F>(f),
                             std::forward<A>(args)...);
}

}  // namespace plx
