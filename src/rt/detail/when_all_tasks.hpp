// when_all of coroutines. Part of coroutine.hpp.
#pragma once

#include <array>
#include <atomic>
#include <tuple>
#include <vector>

#include "rt/detail/awaiters.hpp"

namespace plx {

/// What stands for the result of a task<void> among others.
struct no_value {
  friend bool operator==(no_value, no_value) noexcept = default;
};

namespace detail {

/// The children of a when_all, which lives in the frame of the coroutine that awaits it. The first child goes on in its
/// parent's place, the others are tasks. Whoever ends last goes on in the parent; who ends before takes one of the
/// others back if nobody stole it.
///
/// Invariant: `missing` counts children that have not ended. Whoever brings it to zero goes on in the parent; nobody
/// else may touch the fork any more once he has counted down.
class fork {
 public:
  struct child : coroutine_chain {
    child() noexcept : coroutine_chain(fork::child_ended) {}
  };

  explicit fork(std::size_t n) noexcept : missing_(n) {}
  template <class P>
  void prepare(child& c, std::coroutine_handle<P> frame) noexcept {
    frame.promise().chain = &c;
    c.owner = this;
    c.at = frame;
  }
  /// Starts children[0 .. n), which are prepared. Gives what goes on in the parent's place.
  std::coroutine_handle<> start(child* children, std::size_t n, coroutine_chain& parent,
                                std::coroutine_handle<> parent_at) noexcept;

 private:
  static std::coroutine_handle<> child_ended(coroutine_chain& c) noexcept;

  std::atomic<std::size_t> missing_;
  coroutine_chain* parent_ = nullptr;
  std::coroutine_handle<> parent_at_{};
};

template <class T>
using value_or_none = std::conditional_t<std::is_void_v<T>, no_value, T>;

template <class T>
value_or_none<T> take_or_none(plx::task<T>& t) {
  auto& promise = task_access::frame(t).promise();
  if constexpr (std::is_void_v<T>) {
    promise.take();
    return {};
  } else {
    return promise.take();
  }
}

template <class... T>
class [[nodiscard]] tuple_fork {
 public:
  explicit tuple_fork(std::tuple<plx::task<T>...>&& t) : tasks_(std::move(t)) {}
  static constexpr bool await_ready() noexcept { return sizeof...(T) == 0; }
  template <chained P>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) noexcept {
    std::apply(
        [this](auto&... t) {
          std::size_t i = 0;
          (fork_.prepare(children_[i++], task_access::frame(t)), ...);
        },
        tasks_);
    return fork_.start(children_.data(), sizeof...(T), *parent.promise().chain, parent);
  }
  auto await_resume() {
    // In braces, so that the first exception in the order of the tasks is the one that is thrown.
    if constexpr ((std::is_void_v<T> && ...))
      std::apply([](auto&... t) { (take_or_none(t), ...); }, tasks_);
    else
      return std::apply([](auto&... t) { return std::tuple<value_or_none<T>...>{take_or_none(t)...}; }, tasks_);
  }

 private:
  std::tuple<plx::task<T>...> tasks_;
  fork fork_{sizeof...(T)};
  std::array<fork::child, sizeof...(T)> children_;
};

template <class T>
class [[nodiscard]] vector_fork {
 public:
  explicit vector_fork(std::vector<plx::task<T>>&& t)
      : tasks_(std::move(t)), fork_(tasks_.size()), children_(tasks_.size()) {}
  bool await_ready() const noexcept { return tasks_.empty(); }
  template <chained P>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) noexcept {
    for (std::size_t i = 0; i < tasks_.size(); ++i) fork_.prepare(children_[i], task_access::frame(tasks_[i]));
    return fork_.start(children_.data(), tasks_.size(), *parent.promise().chain, parent);
  }
  auto await_resume() {
    if constexpr (std::is_void_v<T>) {
      for (auto& t : tasks_) take_or_none(t);
    } else {
      std::vector<T> results;
      results.reserve(tasks_.size());
      for (auto& t : tasks_) results.push_back(take_or_none(t));
      return results;
    }
  }

 private:
  std::vector<plx::task<T>> tasks_;
  fork fork_;
  std::vector<fork::child> children_;
};

}  // namespace detail
}  // namespace plx
