// dataflow: a call that is made when all its future arguments are ready.
//
// Thread safety: everything. Cost: one allocation for the state and one atomic operation per future; with a vector of
// futures among the arguments one allocation more. Example: when_test.cpp, when_more_test.cpp.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "rt/async.hpp"
#include "rt/future/future_sequence.hpp"

namespace plx {

// unwrap and unwrapping: the values of futures, and functions of values as functions of futures.
//
//   plx::dataflow(plx::unwrapping([](int a, double b) { return a * b; }), std::move(fa), std::move(fb));
//   f.then(plx::unwrapping([](int a) { return a + 1; }));
//
// A future of a future is unwrapped by future::unwrap() or by assigning it to a future of the value.
// Thread safety: that of the futures. Cost: that of get(). Example: when_more_test.cpp.

namespace detail {

template <class F>
inline constexpr bool is_void_future = false;
template <>
inline constexpr bool is_void_future<future<void>> = true;
template <>
inline constexpr bool is_void_future<shared_future<void>> = true;

template <class F>
auto values_of(std::vector<F>& futures) {
  if constexpr (is_void_future<F>) {
    for (auto& f : futures) f.get();
    return std::tuple<>();
  } else {
    std::vector<std::decay_t<typename future_value<F>::type>> values;
    values.reserve(futures.size());
    for (auto& f : futures) values.push_back(f.get());
    return std::tuple<decltype(values)>(std::move(values));
  }
}

/// What an argument gives to the call: nothing for a future<void>, the value or a reference for another future, a
/// vector of values for one of futures, and other arguments as they are.
template <class A>
auto values_in(A&& a) {
  using type = std::remove_cvref_t<A>;
  if constexpr (is_void_future<type>) {
    a.get();
    return std::tuple<>();
  } else if constexpr (is_future<type>) {
    return std::tuple<decltype(a.get())>(a.get());
  } else if constexpr (is_future_vector<type>) {
    return values_of(a);
  } else if constexpr (is_future_sequence<type>) {
    auto each = std::apply([](auto&... f) { return std::tuple_cat(values_in(f)...); }, a);
    return std::tuple<decltype(each)>(std::move(each));
  } else {
    return std::tuple<A&&>(std::forward<A>(a));
  }
}

template <class F>
struct unwrapping_call {
  F f;
  /// Profiles name the call after what the user wrote: see probe::register_callable_name().
  const F& wrapped_callable() const noexcept { return f; }
  template <class... A>
  decltype(auto) operator()(A&&... args) {
    return std::apply(f, std::tuple_cat(values_in(std::forward<A>(args))...));
  }
};

}  // namespace detail

/// Waits for the futures and gives their values: one value, or a tuple of several; see unwrapping() for what counts.
/// Throws what the first of them that failed threw.
template <class... F>
auto unwrap(F&&... futures) {
  auto values = std::tuple_cat(detail::values_in(std::forward<F>(futures))...);
  using tuple = decltype(values);
  if constexpr (std::tuple_size_v<tuple> == 0)
    return;
  else if constexpr (std::tuple_size_v<tuple> == 1)
    return std::tuple_element_t<0, tuple>(std::get<0>(std::move(values)));
  else
    return values;
}

/// A callable that calls `f` with the values of its arguments: of a future its value (of a shared one a reference; of a
/// future<void> nothing), of a vector of futures the vector of values, of a tuple or array the tuple of values. Other
/// arguments are passed on. If one holds an exception, `f` is not called and the exception is thrown.
template <class F>
auto unwrapping(F&& f) {
  return detail::unwrapping_call<std::decay_t<F>>{std::forward<F>(f)};
}

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
