// async_replay and async_replicate: calls that survive faults, by trying again and by doing the same thing several
// times.
//
//   auto f = plx::async_replay(3, step, block);                                   // again when it throws
//   auto g = plx::async_replay_validate(3, is_finite, step, block);               // again when the result is bad, too
//   auto h = plx::async_replicate_vote(3, plx::majority, step, block);            // three times at once; most agree
//
// Every attempt gets its own copies of the arguments, so that one that failed half-way spoils nothing for the next.
// Thread safety: the callables are called by several tasks at once in the replicate forms, by one at a time in the
// replay forms. Cost: replay is one task; replicate n tasks and one that waits. Example: resilience_test.cpp.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

#include "rt/dataflow.hpp"
#include "rt/task_group.hpp"

namespace plx {

/// All attempts ended and none gave a valid result.
class resilience_error : public std::runtime_error {
 public:
  resilience_error(const char* what, std::size_t attempts) : std::runtime_error(what), attempts_(attempts) {}
  /// How many were made.
  [[nodiscard]] std::size_t attempts() const noexcept { return attempts_; }

 private:
  std::size_t attempts_;
};
/// Of async_replay: the last attempt gave a result that was refused.
class replay_error : public resilience_error {
 public:
  explicit replay_error(std::size_t attempts);
};
/// Of async_replicate: no result was accepted.
class replicate_error : public resilience_error {
 public:
  explicit replicate_error(std::size_t attempts);
};

/// The vote that most replicas agree on, by ==; of several such the one that came first. O(n^2) comparisons.
struct majority_vote {
  template <class T>
  T operator()(std::vector<T> votes) const {
    std::size_t best = 0, best_count = 0;
    for (std::size_t i = 0; i < votes.size(); ++i) {
      std::size_t count = 0;
      for (const T& v : votes) count += v == votes[i] ? 1 : 0;
      if (count > best_count) best = i, best_count = count;
    }
    return std::move(votes[best]);
  }
};
/// A vote: the result that most agree on.
inline constexpr majority_vote majority{};

namespace detail {

struct always_valid {
  template <class... T>
  bool operator()(const T&...) const noexcept {
    return true;
  }
};

/// Throws std::invalid_argument.
void require_attempts(std::size_t n);

template <class F, class... A>
decltype(auto) call_with_copies(F& f, const A&... args) {
  return f(A(args)...);
}

template <class Valid, class F, class... A>
auto replay(std::size_t n, Valid& valid, F& f, const A&... args) {
  using R = std::decay_t<std::invoke_result_t<F&, A...>>;
  for (std::size_t attempt = 1;; ++attempt) {
    try {
      if constexpr (std::is_void_v<R>) {
        call_with_copies(f, args...);
        if (valid()) return;
      } else {
        R result = call_with_copies(f, args...);
        if (valid(std::as_const(result))) return result;
      }
    } catch (...) {
      if (attempt >= n) throw;
      continue;
    }
    if (attempt >= n) throw replay_error(n);
  }
}

/// What one replica gave: a result that was accepted, or why there is none.
template <class R>
struct replica {
  std::optional<R> result;
  std::exception_ptr error;
};

/// The valid results, in the order of the replicas' numbers, so that what comes of them does not depend on the
/// schedule.
template <class R>
std::vector<R> valid_results(std::vector<replica<R>>& replicas) {
  std::vector<R> results;
  std::exception_ptr error;
  bool refused = false;
  for (replica<R>& r : replicas) {
    if (r.result)
      results.push_back(std::move(*r.result));
    else if (r.error)
      error = std::move(r.error);
    else
      refused = true;
  }
  if (!results.empty()) return results;
  if (refused || error == nullptr) throw replicate_error(replicas.size());
  std::rethrow_exception(std::move(error));
}

// The replicas refer to this frame; the group waits for all of them before an exception can leave it.
template <class Choose, class Valid, class F, class... A>
auto replicate(std::size_t n, Choose& choose, Valid& valid, F& f, const A&... args) {
  using R = std::decay_t<std::invoke_result_t<F&, A...>>;
  static_assert(!std::is_void_v<R>, "replicas are compared by their results: give one");
  std::vector<replica<R>> replicas(n);
  {
    task_group all;
    for (replica<R>& mine : replicas)
      all.run(named<F>({}), [&] {
        try {
          mine.result.emplace(call_with_copies(f, args...));
          if (!valid(std::as_const(*mine.result))) mine.result.reset();
        } catch (...) {
          mine.result.reset();
          mine.error = std::current_exception();
        }
      });
    all.wait();
  }
  return choose(valid_results(replicas));
}

struct first_result {
  template <class R>
  R operator()(std::vector<R> results) const {
    return std::move(results.front());
  }
};

template <class Valid, class F, class... A>
auto async_replay(std::size_t n, Valid&& valid, F&& f, A&&... args) {
  require_attempts(n);
  return async(named<F>({}),
               [n, valid = std::decay_t<Valid>(std::forward<Valid>(valid)), f = std::decay_t<F>(std::forward<F>(f)),
                args = std::tuple<std::decay_t<A>...>(std::forward<A>(args)...)]() mutable {
                 return std::apply([&](const auto&... a) { return replay(n, valid, f, a...); }, args);
               });
}

template <class Choose, class Valid, class F, class... A>
auto async_replicate(std::size_t n, Choose&& choose, Valid&& valid, F&& f, A&&... args) {
  require_attempts(n);
  return async(named<F>({}),
               [n, choose = std::decay_t<Choose>(std::forward<Choose>(choose)),
                valid = std::decay_t<Valid>(std::forward<Valid>(valid)), f = std::decay_t<F>(std::forward<F>(f)),
                args = std::tuple<std::decay_t<A>...>(std::forward<A>(args)...)]() mutable {
                 return std::apply([&](const auto&... a) { return replicate(n, choose, valid, f, a...); }, args);
               });
}

}  // namespace detail

/// Calls `f(args...)` until it does not throw, at most n times. After n failures the last exception comes out of get().
/// n = 0: std::invalid_argument, as in all that follow.
template <class F, class... A>
auto async_replay(std::size_t n, F&& f, A&&... args) {
  return detail::async_replay(n, detail::always_valid{}, std::forward<F>(f), std::forward<A>(args)...);
}
/// As above, and until `valid(result)` is true (`valid()` when `f` gives nothing). After n attempts: the last
/// exception, or replay_error when the last result was refused.
template <class Valid, class F, class... A>
auto async_replay_validate(std::size_t n, Valid&& valid, F&& f, A&&... args) {
  return detail::async_replay(n, std::forward<Valid>(valid), std::forward<F>(f), std::forward<A>(args)...);
}

/// Calls `f(args...)` in n tasks at once and gives the first result, by the number of the replica, that did not throw.
/// If all threw: the last one's exception. The replicas share `f`, which must bear concurrent calls.
template <class F, class... A>
auto async_replicate(std::size_t n, F&& f, A&&... args) {
  return detail::async_replicate(n, detail::first_result{}, detail::always_valid{}, std::forward<F>(f),
                                 std::forward<A>(args)...);
}
/// As above, of those that `valid(result)` accepts. If none is left and some were refused: replicate_error.
template <class Valid, class F, class... A>
auto async_replicate_validate(std::size_t n, Valid&& valid, F&& f, A&&... args) {
  return detail::async_replicate(n, detail::first_result{}, std::forward<Valid>(valid), std::forward<F>(f),
                                 std::forward<A>(args)...);
}
/// What `vote(std::vector<R>)` makes of the results of those that did not throw; see `majority`.
template <class Vote, class F, class... A>
auto async_replicate_vote(std::size_t n, Vote&& vote, F&& f, A&&... args) {
  return detail::async_replicate(n, std::forward<Vote>(vote), detail::always_valid{}, std::forward<F>(f),
                                 std::forward<A>(args)...);
}
/// What `vote` makes of the valid results.
template <class Vote, class Valid, class F, class... A>
auto async_replicate_vote_validate(std::size_t n, Vote&& vote, Valid&& valid, F&& f, A&&... args) {
  return detail::async_replicate(n, std::forward<Vote>(vote), std::forward<Valid>(valid), std::forward<F>(f),
                                 std::forward<A>(args)...);
}

/// As async_replay(n, f, values...) once all arguments that are futures are ready; `f` gets values as by unwrapping().
/// An argument that failed is not tried again: its exception comes out of get().
template <class F, class... A>
auto dataflow_replay(std::size_t n, F&& f, A&&... args) {
  detail::require_attempts(n);
  auto call = [n, f = std::decay_t<F>(std::forward<F>(f))](auto&&... values) mutable {
    detail::always_valid valid;
    return detail::replay(n, valid, f, values...);
  };
  return dataflow(detail::named<F>({}), unwrapping(std::move(call)), std::forward<A>(args)...);
}
/// As async_replicate(n, f, values...), in the same way.
template <class F, class... A>
auto dataflow_replicate(std::size_t n, F&& f, A&&... args) {
  detail::require_attempts(n);
  auto call = [n, f = std::decay_t<F>(std::forward<F>(f))](auto&&... values) mutable {
    detail::first_result choose;
    detail::always_valid valid;
    return detail::replicate(n, choose, valid, f, values...);
  };
  return dataflow(detail::named<F>({}), unwrapping(std::move(call)), std::forward<A>(args)...);
}

}  // namespace plx
