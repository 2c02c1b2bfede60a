// async_replay and async_replicate: calls that survive faults, by repeating them and by executing them several times.
//
//   auto f = plx::async_replay(3, step, block);                                   // repeats if it throws
//   auto g = plx::async_replay_validate(3, is_finite, step, block);               // also if the result is invalid
//   auto h = plx::async_replicate_vote(3, plx::majority, step, block);            // three calls at once, majority vote
//
// Every attempt gets its own copies of the arguments, so that a failed one does not affect the next.
// Thread safety: the callables are called by several tasks concurrently in the replicate forms, by one at a time in the
// replay forms. Cost: replay is one task; replicate n tasks and one that waits. Example: resilience_test.cpp.
#pragma once

#include <optional>
#include <stdexcept>
#include <vector>

#include "rt/dataflow.hpp"
#include "rt/task_group.hpp"

namespace plx {

/// All attempts ended without a valid result.
class resilience_error : public std::runtime_error {
 public:
  resilience_error(const char* what, std::size_t attempts) : std::runtime_error(what), attempts_(attempts) {}
  /// The number of attempts made.
  [[nodiscard]] std::size_t attempts() const noexcept { return attempts_; }

 private:
  std::size_t attempts_;
};
/// async_replay: the result of the last attempt was invalid.
class replay_error : public resilience_error {
 public:
  explicit replay_error(std::size_t attempts)
      : resilience_error("replay: every attempt failed, the last one with an invalid result", attempts) {}
};
/// async_replicate: no result was valid.
class replicate_error : public resilience_error {
 public:
  explicit replicate_error(std::size_t attempts)
      : resilience_error("replicate: no replica returned a valid result", attempts) {}
};

/// The most frequent result, by ==; the earliest one in case of a tie. O(n^2) comparisons.
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
/// A vote: the most frequent result.
inline constexpr majority_vote majority{};

namespace detail {

struct always_valid {
  template <class... T>
  bool operator()(const T&...) const noexcept {
    return true;
  }
};

inline void require_attempts(std::size_t n) {
  if (n == 0) throw std::invalid_argument("replay, replicate: n must be at least 1, but is 0");
}

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

/// The outcome of one replica: a valid result, or the reason why there is none.
template <class R>
struct replica {
  std::optional<R> result;
  std::exception_ptr error;
};

/// The valid results in the order of the replicas' indices, so that the outcome does not depend on the schedule.
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

// The replicas refer to this frame; the group waits for all of them before an exception can leave the frame.
template <class Choose, class Valid, class F, class... A>
auto replicate(std::size_t n, Choose& choose, Valid& valid, F& f, const A&... args) {
  using R = std::decay_t<std::invoke_result_t<F&, A...>>;
  static_assert(!std::is_void_v<R>, "a replicated call must return a result to compare");
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

/// Calls `f(args...)` until it does not throw, at most n times. After n failures get() rethrows the last exception.
/// Errors, here and below: std::invalid_argument if n = 0.
template <class F, class... A>
auto async_replay(std::size_t n, F&& f, A&&... args) {
  return detail::async_replay(n, detail::always_valid{}, std::forward<F>(f), std::forward<A>(args)...);
}
/// As above, until `valid(result)` is true (`valid()` if `f` returns void). After n attempts: the last exception, or
/// replay_error if the last result was invalid.
template <class Valid, class F, class... A>
auto async_replay_validate(std::size_t n, Valid&& valid, F&& f, A&&... args) {
  return detail::async_replay(n, std::forward<Valid>(valid), std::forward<F>(f), std::forward<A>(args)...);
}

/// Calls `f(args...)` in n concurrent tasks and returns the result of the first replica, by index, that did not throw.
/// If all threw: the exception of the last one. The replicas share `f`, which must support concurrent calls.
template <class F, class... A>
auto async_replicate(std::size_t n, F&& f, A&&... args) {
  return detail::async_replicate(n, detail::first_result{}, detail::always_valid{}, std::forward<F>(f),
                                 std::forward<A>(args)...);
}
/// As above, among the results for which `valid(result)` is true. If none is valid and some did not throw:
/// replicate_error.
template <class Valid, class F, class... A>
auto async_replicate_validate(std::size_t n, Valid&& valid, F&& f, A&&... args) {
  return detail::async_replicate(n, detail::first_result{}, std::forward<Valid>(valid), std::forward<F>(f),
                                 std::forward<A>(args)...);
}
/// Returns `vote(std::vector<R>)` of the results of the replicas that did not throw; see `majority`.
template <class Vote, class F, class... A>
auto async_replicate_vote(std::size_t n, Vote&& vote, F&& f, A&&... args) {
  return detail::async_replicate(n, std::forward<Vote>(vote), detail::always_valid{}, std::forward<F>(f),
                                 std::forward<A>(args)...);
}
/// As above, of the valid results.
template <class Vote, class Valid, class F, class... A>
auto async_replicate_vote_validate(std::size_t n, Vote&& vote, Valid&& valid, F&& f, A&&... args) {
  return detail::async_replicate(n, std::forward<Vote>(vote), std::forward<Valid>(valid), std::forward<F>(f),
                                 std::forward<A>(args)...);
}

/// As async_replay(n, f, values...) once all arguments that are futures are ready; `f` gets values as with
/// unwrapping(). A failed argument is not retried: get() rethrows its exception.
template <class F, class... A>
auto dataflow_replay(std::size_t n, F&& f, A&&... args) {
  detail::require_attempts(n);
  auto call = [n, f = std::decay_t<F>(std::forward<F>(f))](auto&&... values) mutable {
    detail::always_valid valid;
    return detail::replay(n, valid, f, values...);
  };
  return dataflow(detail::named<F>({}), unwrapping(std::move(call)), std::forward<A>(args)...);
}
/// As async_replicate(n, f, values...), with the same treatment of arguments.
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
