// stop_token, stop_source, stop_callback: requests to stop tasks, as in the standard's <stop_token>.
//
// Not the standard library's classes, because a callback may wait: "the thread that runs the callback" must then mean
// the task, on whichever worker it resumes, and a task that destroys the callback meanwhile must suspend instead of
// blocking its worker. Thread safety: as in the standard; tasks and external threads. Cost: one acquire load to query;
// one allocation per source with a state; a short spinlock to register a callback. Example: jthread_test.cpp.
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>
#include <utility>

#include "rt/core/pool.hpp"
#include "rt/sync/wait.hpp"

namespace plx {

/// Constructs a stop_source without a state.
struct nostopstate_t {
  explicit nostopstate_t() = default;
};
inline constexpr nostopstate_t nostopstate{};

namespace detail {

/// A callback in the list of its state. `call` must not throw.
struct stop_callback_node {
  stop_callback_node* next = nullptr;
  stop_callback_node* previous = nullptr;
  void (*call)(stop_callback_node*) noexcept = nullptr;
  bool listed = false;
};

/// The state shared by sources, tokens and callbacks.
///
/// Invariant: `running_` is the callback that request_stop() is calling, outside the lock; once it is null or another
/// callback, that callback is never accessed again.
class stop_state {
 public:
  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // acq_rel: the last holder sees what the others did before they released theirs.
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  void add_source() noexcept { sources_.fetch_add(1, std::memory_order_relaxed); }
  // release: pairs with the acquire in possible(), which then sees a request made before the last source was destroyed.
  void drop_source() noexcept { sources_.fetch_sub(1, std::memory_order_release); }

  // acquire: pairs with the release in request_stop(); writes before the request are visible.
  [[nodiscard]] bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }
  [[nodiscard]] bool possible() const noexcept {
    return requested() || sources_.load(std::memory_order_acquire) != 0 || requested();
  }

  /// Calls all callbacks, one after another, in the caller. False if a stop was requested before.
  bool request_stop() noexcept;
  /// False, without registering, if a stop was requested already (then the caller calls it) or is no longer possible.
  bool add(stop_callback_node& c) noexcept;
  /// On return the callback is not running and will not run, unless the caller is the callback itself.
  void remove(stop_callback_node& c) noexcept;

 private:
  ~stop_state() = default;

  std::atomic<std::uint32_t> refs_{1};
  std::atomic<std::uint32_t> sources_{1};
  std::atomic<bool> requested_{false};
  spinlock guard_;
  stop_callback_node* first_ = nullptr;
  stop_callback_node* running_ = nullptr;
  const void* requester_ = nullptr;  // the task or thread that calls the callbacks
  wait_list waiters_;                // waiters for the end of the running callback
};

using stop_state_ref = counted_ptr<stop_state>;

}  // namespace detail

/// Queries whether a stop was requested.
class stop_token {
 public:
  stop_token() noexcept = default;

  [[nodiscard]] bool stop_requested() const noexcept { return state_ && state_->requested(); }
  /// False if no stop was requested and no source is left that could request one.
  [[nodiscard]] bool stop_possible() const noexcept { return state_ && state_->possible(); }
  void swap(stop_token& o) noexcept { std::swap(state_, o.state_); }
  friend void swap(stop_token& a, stop_token& b) noexcept { a.swap(b); }
  [[nodiscard]] friend bool operator==(const stop_token& a, const stop_token& b) noexcept = default;

 private:
  explicit stop_token(detail::stop_state_ref s) noexcept : state_(std::move(s)) {}
  detail::stop_state_ref state_;
  friend class stop_source;
  template <class>
  friend class stop_callback;
};

/// Requests a stop.
class stop_source {
 public:
  stop_source() : state_(new detail::stop_state) {}
  explicit stop_source(nostopstate_t) noexcept {}
  stop_source(const stop_source& o) noexcept : state_(o.state_) {
    if (state_) state_->add_source();
  }
  stop_source(stop_source&&) noexcept = default;
  stop_source& operator=(const stop_source& o) noexcept {
    stop_source(o).swap(*this);
    return *this;
  }
  stop_source& operator=(stop_source&& o) noexcept {
    stop_source(std::move(o)).swap(*this);
    return *this;
  }
  ~stop_source() {
    if (state_) state_->drop_source();
  }

  /// True for the one call that made the request; it has called all callbacks. An exception thrown by a callback ends
  /// the program.
  bool request_stop() const noexcept { return state_ && state_->request_stop(); }
  [[nodiscard]] bool stop_requested() const noexcept { return state_ && state_->requested(); }
  [[nodiscard]] bool stop_possible() const noexcept { return static_cast<bool>(state_); }
  [[nodiscard]] stop_token get_token() const noexcept { return stop_token(state_); }
  void swap(stop_source& o) noexcept { std::swap(state_, o.state_); }
  friend void swap(stop_source& a, stop_source& b) noexcept { a.swap(b); }
  [[nodiscard]] friend bool operator==(const stop_source& a, const stop_source& b) noexcept = default;

 private:
  detail::stop_state_ref state_;
};

/// Calls `callback()` when a stop is requested: in the task or thread that requests it, or in the constructor if that
/// has already happened. The destructor waits for a concurrent call to return; a callback may destroy itself.
template <class Callback>
class stop_callback : detail::stop_callback_node {
  static_assert(std::is_invocable_v<Callback>, "a stop_callback must be callable without arguments");
  static_assert(std::is_destructible_v<Callback>, "the callable of a stop_callback must have a public destructor");

 public:
  using callback_type = Callback;

  template <class C>
  requires std::constructible_from<Callback, C>
  explicit stop_callback(const stop_token& token, C&& callback) noexcept(std::is_nothrow_constructible_v<Callback, C>)
      : stop_callback(stop_token(token), std::forward<C>(callback)) {}
  template <class C>
  requires std::constructible_from<Callback, C>
  explicit stop_callback(stop_token&& token, C&& callback) noexcept(std::is_nothrow_constructible_v<Callback, C>)
      : callback_(std::forward<C>(callback)) {
    this->call = [](detail::stop_callback_node* n) noexcept {
      auto& self = static_cast<stop_callback&>(*n);
      std::forward<Callback>(self.callback_)();
    };
    if (!token.state_) return;
    if (token.state_->add(*this))
      state_ = std::move(token.state_);
    else if (token.state_->requested())
      this->call(this);
  }
  stop_callback(const stop_callback&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;
  ~stop_callback() {
    if (state_) state_->remove(*this);
  }

 private:
  Callback callback_;
  detail::stop_state_ref state_;
};
template <class Callback>
stop_callback(stop_token, Callback) -> stop_callback<Callback>;

}  // namespace plx
