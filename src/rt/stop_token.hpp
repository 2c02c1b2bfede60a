// stop_token, stop_source, stop_callback: asking tasks to end, as in the standard's <stop_token>.
//
// Ours and not the standard library's, because a callback may wait: then "the thread that runs the callback" must mean
// the task, wherever it goes on, and who destroys the callback meanwhile must give its worker away, not block it.
// Thread safety: as the standard's; tasks and foreign threads. Cost: one acquire load to ask; one allocation per source
// with a state; a short spinlock to register a callback. Example: jthread_test.cpp.
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>
#include <utility>

#include "rt/sync/wait.hpp"

namespace plx {

/// Makes a stop_source without a state.
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

/// What sources, tokens and callbacks share.
///
/// Invariant: `running_` is the callback that request_stop() calls right now, outside the lock; once it is null or
/// another one, that callback is never touched again.
class stop_state {
 public:
  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // acq_rel: the last one sees what the others did before they let go.
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  void add_source() noexcept { sources_.fetch_add(1, std::memory_order_relaxed); }
  // release: pairs with the acquire in possible(), which then sees a request made before the last source went.
  void drop_source() noexcept { sources_.fetch_sub(1, std::memory_order_release); }

  // acquire: pairs with the release in request_stop(); what was done before it is seen.
  [[nodiscard]] bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }
  [[nodiscard]] bool possible() const noexcept {
    return requested() || sources_.load(std::memory_order_acquire) != 0 || requested();
  }

  /// Calls all callbacks, one after the other, in the caller. False when somebody asked before.
  bool request_stop() noexcept;
  /// False, and nothing registered, when stop was requested already: the caller calls it, or when it never can be.
  bool add(stop_callback_node& c) noexcept;
  /// After this the callback is not running and will not run, unless the caller is the callback itself.
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
  wait_list waiters_;                // who waits for the running callback to end
};

/// A counted pointer to a state.
class stop_state_ref {
 public:
  stop_state_ref() noexcept = default;
  explicit stop_state_ref(stop_state* adopted) noexcept : s_(adopted) {}
  stop_state_ref(const stop_state_ref& o) noexcept : s_(o.s_) {
    if (s_ != nullptr) s_->add_ref();
  }
  stop_state_ref(stop_state_ref&& o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
  stop_state_ref& operator=(stop_state_ref o) noexcept {
    std::swap(s_, o.s_);
    return *this;
  }
  ~stop_state_ref() {
    if (s_ != nullptr) s_->release();
  }
  stop_state* operator->() const noexcept { return s_; }
  explicit operator bool() const noexcept { return s_ != nullptr; }
  friend bool operator==(const stop_state_ref& a, const stop_state_ref& b) noexcept { return a.s_ == b.s_; }

 private:
  stop_state* s_ = nullptr;
};

}  // namespace detail

/// Asks whether to stop.
class stop_token {
 public:
  stop_token() noexcept = default;

  [[nodiscard]] bool stop_requested() const noexcept { return state_ && state_->requested(); }
  /// False when there is no source left that could ask, and none did.
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

/// Asks to stop.
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

  /// True for the one call that made the request: it has called all callbacks. An exception out of one ends the
  /// program.
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

/// Calls `callback()` when stop is requested: in the task or thread that asks, or in the constructor when somebody
/// already did. The destructor waits until a call that runs elsewhere has ended; a callback may destroy itself.
template <class Callback>
class stop_callback : detail::stop_callback_node {
  static_assert(std::is_invocable_v<Callback>, "a stop_callback is called without arguments");
  static_assert(std::is_destructible_v<Callback>, "the callable of a stop_callback has a public destructor");

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
