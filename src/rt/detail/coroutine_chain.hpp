// What all coroutines of the runtime share: where their frames live, how one goes on in another, how they sleep.
//
// Coroutines that await each other form a chain: the outermost one was spawned (or called by sync_wait, or gave a
// future), each other one is awaited by the one before, and one of them at a time can go on. It goes on in another one
// by a tail call, where the compiler makes one. GCC does so only from -O2 on and without sanitizers, and a header
// cannot know; so with GCC each 16th time the coroutine returns to the loop in run_from(), which calls the next one.
// That bounds the stack whatever the flags, and code built with different ones may be mixed. Thread safety: a chain is
// run by one worker at a time; whoever it waits for calls submit(), once per suspend_at(). Cost: docs/runtime.md.
// Example: coroutine_test.cpp.
#pragma once

#include <coroutine>
#include <exception>
#include <source_location>
#include <utility>

#include "rt/detail/future_state.hpp"

namespace plx::detail {

struct home_link;

struct coroutine_chain : task {
  /// The outermost coroutine has ended; may destroy it, and the chain. Gives what goes on in this place.
  using end_function = std::coroutine_handle<> (*)(coroutine_chain&) noexcept;

  explicit coroutine_chain(end_function e) noexcept : ended(e) { run = run_as_task; }
  coroutine_chain(const coroutine_chain&) = delete;
  coroutine_chain& operator=(const coroutine_chain&) = delete;

  /// Runs `first`, and whatever names itself as next, until nothing more can go on here. The chain may be gone then, or
  /// run by somebody else.
  void run_from(std::coroutine_handle<> first, bool is_task = false, bool in_loop = false);
  /// run_from() in the caller's frame; as a task when little is left of the caller's stack. The chain may be gone
  /// then.
  void begin(std::coroutine_handle<> first);
  /// What await_suspend() of the coroutine that runs has to return so that `h` goes on.
  [[nodiscard]] std::coroutine_handle<> go_on_in(std::coroutine_handle<> h) noexcept {
#if !defined(__clang__)
    if (++transfers_ % 16 == 0) {
      runner_->next = h;
      return std::noop_coroutine();
    }
#endif
    return h;
  }

  /// The chain will go on in `at`, as a task of the runtime that the caller runs in, with the name, key and placement
  /// of the task that the caller is. Call before whoever will submit() can know of it.
  void suspend_at(std::coroutine_handle<> at) noexcept;
  void submit();
  /// It goes on after all, where it was: what it wants to wait for has happened.
  void not_suspended() noexcept;

  /// The place of a run_from() on its stack.
  struct runner {
    std::coroutine_handle<> next;
    bool is_task;  // what runs here is timed as a task of its own
    bool in_loop;  // and the worker's loop called: nobody waits below
  };

  std::coroutine_handle<> at{};  // where it goes on
  runner* runner_ = nullptr;     // valid while it runs
  home_link* home = nullptr;     // of the last suspension; null: none, it happened on a foreign thread
  end_function ended;
  unsigned transfers_ = 0;
  ticks earlier = 0;                // what it took until its last suspension
  ticks since = 0;                  // when that was
  const char* waits_for = nullptr;  // for what, as wait_reason tells it; null: it could go on at once
  probe::name_id name = 0;          // from its first suspension on, if it is not to keep the name of the task it ran in

 private:
  static void run_as_task(task* t, run_mode mode);
};

/// The newest task of the caller's deque, when `owner` owns it; it is no longer in the deque.
task* take_back_from_deque(const void* owner);

/// The id of a coroutine's name, "plx::task<int> load(int)". Cost: two loads, but the first time.
probe::name_id name_of_coroutine(const std::source_location& where);

/// A promise whose frame comes from the worker's pool.
struct pooled_frame {
  static void* operator new(std::size_t bytes) { return pool_get(bytes); }
  static void operator delete(void* p, std::size_t bytes) noexcept { pool_put(p, bytes); }
};

/// What the promises of all our coroutines share.
struct chain_link : pooled_frame {
  coroutine_chain* chain = nullptr;  // null: not started
};

/// A coroutine of the runtime, as opposed to somebody else's that awaits something of ours.
template <class P>
concept chained = std::is_base_of_v<chain_link, P>;

/// The promise of a coroutine that others await.
struct chain_promise : chain_link {
  struct final_awaiter {
    static constexpr bool await_ready() noexcept { return false; }
    template <class P>
    static std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
      chain_promise& p = h.promise();
      return p.awaiting ? p.chain->go_on_in(p.awaiting) : p.chain->ended(*p.chain);
    }
    static constexpr void await_resume() noexcept {}
  };
  static constexpr std::suspend_always initial_suspend() noexcept { return {}; }
  static constexpr final_awaiter final_suspend() noexcept { return {}; }

  std::coroutine_handle<> awaiting{};  // who goes on when this one has ended; none: the chain ends
  std::source_location where{};
};

/// The result of a coroutine, in its promise.
template <class T>
class coroutine_result : public chain_promise {
 public:
  coroutine_result() noexcept {}
  ~coroutine_result() {
    if (has_value_) value_.~value_type();
  }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
  /// Throws what the coroutine threw. Once.
  T take() {
    if (error_) std::rethrow_exception(error_);
    if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*value_);
    else
      return std::move(value_);
  }

 protected:
  using value_type = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::remove_cv_t<T>>;
  template <class... V>
  void emplace(V&&... v) {
    ::new (static_cast<void*>(__builtin_addressof(value_))) value_type(std::forward<V>(v)...);
    has_value_ = true;
  }

 private:
  std::exception_ptr error_;
  bool has_value_ = false;
  union {
    value_type value_;
  };
};

template <class T>
struct coroutine_promise : coroutine_result<T> {
  template <class V = T>
  requires std::is_constructible_v<T, V>
  void return_value(V&& v) { this->emplace(std::forward<V>(v)); }
};
template <class T>
struct coroutine_promise<T&> : coroutine_result<T&> {
  void return_value(T& v) noexcept { this->emplace(__builtin_addressof(v)); }
};
template <>
struct coroutine_promise<void> : chain_promise {
  void return_void() noexcept {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
  void take() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

}  // namespace plx::detail
