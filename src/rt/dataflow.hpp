// dataflow: a call that is executed when all its future arguments are ready.
//
// Thread safety: everything. Cost: one allocation for the state and one atomic operation per future; one more
// allocation if the arguments include a vector of futures. Example: when_test.cpp, when_more_test.cpp.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "rt/async.hpp"
#include "rt/when_all.hpp"

namespace plx {

// unwrap and unwrapping: obtain the values of futures; turn functions of values into functions of futures.
//
//   plx::dataflow(plx::unwrapping([](int a, double b) { return a * b; }), std::move(fa), std::move(fb));
//   f.then(plx::unwrapping([](int a) { return a + 1; }));
//
// A future of a future is unwrapped by future::unwrap() or by assignment to a future of the value.
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

/// The values that an argument contributes to the call: none for a future<void>, the value or a reference for another
/// future, a vector of values for a vector of futures; other arguments are passed unchanged.
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
  /// Profiles name the call after the user's callable: see probe::register_callable_name().
  const F& wrapped_callable() const noexcept { return f; }
  template <class... A>
  decltype(auto) operator()(A&&... args) {
    return std::apply(f, std::tuple_cat(values_in(std::forward<A>(args))...));
  }
};

}  // namespace detail

/// Waits for the futures and returns their values: one value, or a tuple of several; the conversions are those of
/// unwrapping(). Rethrows the exception of the first one that failed.
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

/// A callable that calls `f` with the values of its arguments: a future gives its value (a shared_future a reference, a
/// future<void> nothing), a vector of futures a vector of values, a tuple or array a tuple of values. Other arguments
/// are forwarded. If a future holds an exception, `f` is not called and the exception is thrown.
template <class F>
auto unwrapping(F&& f) {
  return detail::unwrapping_call<std::decay_t<F>>{std::forward<F>(f)};
}

namespace detail {

/// The number of futures in an argument as far as its type determines it; a vector has its run-time size.
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
    // acq_rel: the last one sees the writes of all others.

    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const Place where = place_;  // the state may be destroyed once the task is submitted
    where.submit(&task_);
  }
  static void run(task* t, run_mode mode) {
    auto* self = const_cast<dataflow_state*>(static_cast<const dataflow_state*>(t->owner));
    // Destroy the callable and the arguments before the result becomes visible. Otherwise a long chain of tasks would
    // keep all its results, and the last future would destroy them recursively.
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
  // Checked before anything is moved or attached, so that an error leaves no partially constructed state.
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

/// The result of `f` for the values of the futures: a missing unwrapping() is then the only error that the compiler
/// reports.
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
/// Futures are passed as futures, other arguments unchanged; see unwrapping() for values. Arguments are moved in or
/// copied. Errors: future_error(no_state) for a future without a state.
template <class F, class... A>
auto dataflow(task_info info, F&& f, A&&... args) {
  return detail::dataflow_on(detail::home_place(), info, std::forward<F>(f), std::forward<A>(args)...);
}
template <class F, class... A>
requires detail::is_plain_callable<F>
auto dataflow(F&& f, A&&... args) { return dataflow(task_info{}, std::forward<F>(f), std::forward<A>(args)...); }
/// launch::sync: `f` runs in the task that completes the last argument, so it should be short. Otherwise in a new task.
template <class F, class... A>
auto dataflow(launch where, F&& f, A&&... args) {
  if (detail::chosen(where) == launch::sync)
    return detail::dataflow_on(detail::completer_place(), {}, std::forward<F>(f), std::forward<A>(args)...);
  return detail::dataflow_on(detail::home_place(), {}, std::forward<F>(f), std::forward<A>(args)...);
}
/// As above, on an executor; see rt/executor.hpp.
template <any_executor E, class F, class... A>
auto dataflow(const E& ex, F&& f, A&&... args) {
  return detail::dataflow_on(detail::executor_place<E>{ex}, detail::info_of(ex), std::forward<F>(f),
                             std::forward<A>(args)...);
}

}  // namespace plx
