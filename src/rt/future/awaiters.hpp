// The awaiters of tasks and futures. Part of coroutine.hpp.
#pragma once

#include <array>
#include <atomic>
#include <coroutine>
#include <exception>
#include <source_location>
#include <tuple>
#include <utility>
#include <vector>

#include "rt/core/timer_queue.hpp"
#include "rt/future.hpp"
#include "rt/future/future_state.hpp"

namespace plx::detail {

// Common machinery of all coroutines of the runtime: where frames are allocated, how control passes from one coroutine
// to another, how a coroutine suspends.
//
// Coroutines that await each other form a chain: the outermost one was spawned (or called by sync_wait, or returned a
// future), each other one is awaited by the previous one, and one of them at a time can run. Control passes to another
// coroutine by a tail call where the compiler generates one. GCC does so only from -O2 on and without sanitizers, which
// a header cannot detect; so with GCC the coroutine returns every 16th time to the loop in run_from(), which calls the
// next one. That bounds the stack independently of the flags, and code built with different flags may be mixed. Thread
// safety: a chain is run by one worker at a time; the operation that it waits for calls submit(), once per
// suspend_at(). Cost: docs/runtime.md. Example: coroutine_test.cpp.

struct home_link;

struct coroutine_chain : task {
  /// The outermost coroutine has ended; may destroy it and the chain. Returns the coroutine to run next on this stack.
  using end_function = std::coroutine_handle<> (*)(coroutine_chain&) noexcept;

  explicit coroutine_chain(end_function e) noexcept : ended(e) { run = run_as_task; }
  coroutine_chain(const coroutine_chain&) = delete;
  coroutine_chain& operator=(const coroutine_chain&) = delete;

  /// Runs `first`, and each coroutine that is set as next, until none can continue here. On return the chain may have
  /// been destroyed, or another worker may run it.
  void run_from(std::coroutine_handle<> first, bool is_task = false, bool in_loop = false);
  /// run_from() in the caller's frame; as a task if little of the caller's stack is free. On return the chain may have
  /// been destroyed.
  void begin(std::coroutine_handle<> first);
  /// The value that await_suspend() of the running coroutine must return so that `h` continues.
  [[nodiscard]] std::coroutine_handle<> go_on_in(std::coroutine_handle<> h) noexcept {
#if !defined(__clang__)
    if (++transfers_ % 16 == 0) {
      runner_->next = h;
      return std::noop_coroutine();
    }
#endif
    return h;
  }

  /// The chain will resume in `at`, as a task of the caller's runtime, with the name, key and placement of the calling
  /// task. Called before the chain is visible to the operation that will call submit().
  void suspend_at(std::coroutine_handle<> at) noexcept;
  void submit();
  /// Undoes suspend_at(): the awaited event has already happened, and the coroutine continues where it is.
  void not_suspended() noexcept;

  /// The state of one run_from() call, on its stack.
  struct runner {
    std::coroutine_handle<> next;
    bool is_task;  // timed as a task of its own
    bool in_loop;  // called by the worker's loop: no task waits below on this stack
  };

  std::coroutine_handle<> at{};  // the coroutine to resume
  runner* runner_ = nullptr;     // valid while the chain runs
  home_link* home = nullptr;     // runtime of the last suspension; null: on an external thread
  end_function ended;
  unsigned transfers_ = 0;
  ticks earlier = 0;                // run time until its last suspension
  ticks since = 0;                  // time of its last suspension
  const char* waits_for = nullptr;  // what it waits for, as in wait_reason; null: it is ready
  probe::name_id name = 0;          // name from its first suspension on; 0: that of the task it ran in

 private:
  static void run_as_task(task* t, run_mode mode);
};

/// Removes and returns the newest task of the caller's deque if `owner` owns it; otherwise null.
task* take_from_deque(const void* owner);

/// The id of a coroutine's name, "plx::task<int> load(int)". Cost: two loads after the first call.
probe::name_id name_of_coroutine(const std::source_location& where);

/// A promise whose coroutine frame is allocated from the worker's pool.
struct pooled_frame {
  static void* operator new(std::size_t bytes) { return pool_get(bytes); }
  static void operator delete(void* p, std::size_t bytes) noexcept { pool_put(p, bytes); }
};

/// The base of the promises of all coroutines of the runtime.
struct chain_link : pooled_frame {
  coroutine_chain* chain = nullptr;  // null: not started
};

/// A coroutine of the runtime, as opposed to a coroutine of another library that awaits an object of the runtime.
template <class P>
concept chained = std::is_base_of_v<chain_link, P>;

/// The promise of a coroutine that can be awaited.
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

  std::coroutine_handle<> awaiting{};  // the coroutine to resume when this one has ended; null: the chain ends
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
  /// Rethrows the exception of the coroutine. Called once.
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

namespace plx {
template <class T>
class task;
struct sequenced_executor;

namespace detail {

struct task_access {
  template <class T>
  static auto frame(const plx::task<T>& t) noexcept {
    return t.frame_;
  }
};

/// Lets a coroutine `waiting` of another library await one of the runtime, which starts at `first`. False if that has
/// already ended.
bool await_externally(std::coroutine_handle<> first, chain_link& link, std::coroutine_handle<> waiting);
/// Resumes a coroutine of another library as a task when the state is ready. False if it is ready already.
bool attach_externally(future_state_base& s, std::coroutine_handle<> waiting);

template <class T>
class task_awaiter {
 public:
  explicit task_awaiter(plx::task<T>&& t) noexcept : task_(std::move(t)) {
    PLX_ASSERT(task_.valid() && "co_await on a moved-from task");
  }
  static constexpr bool await_ready() noexcept { return false; }
  template <chained P>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<P> parent) noexcept {
    const auto child = task_access::frame(task_);
    coroutine_chain* chain = parent.promise().chain;
    child.promise().chain = chain;
    child.promise().awaiting = parent;
    return chain->go_on_in(child);
  }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> parent) {
    const auto child = task_access::frame(task_);
    return await_externally(child, child.promise(), parent);
  }
  T await_resume() { return task_access::frame(task_).promise().take(); }

 private:
  plx::task<T> task_;
};

/// The continuation that a chain attaches to the state it waits for; stored in the coroutine's frame.
struct chain_continuation : continuation {
  /// False if the state is ready: then the coroutine continues immediately.
  bool attach_to(future_state_base& s, coroutine_chain& c, std::coroutine_handle<> waiting) noexcept {
    chain = &c;
    fire = [](continuation* self) { static_cast<chain_continuation*>(self)->chain->submit(); };
    c.suspend_at(waiting);
    c.waits_for = "future";
    if (s.attach_unless_ready(*this)) return true;
    c.not_suspended();
    return false;
  }

  coroutine_chain* chain = nullptr;
};

/// Future: future<T> or shared_future<T> if co_await was applied to an rvalue, otherwise a reference to one.
template <class T, class Future>
class future_awaiter {
 public:
  explicit future_awaiter(Future f) noexcept : future_(static_cast<Future&&>(f)) {}
  bool await_ready() const { return future_.is_ready(); }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> waiting) {
    future_state<T>& s = *state_of(const_cast<std::remove_cvref_t<Future>&>(future_)).get();
    if constexpr (chained<P>)
      return continuation_.attach_to(s, *waiting.promise().chain, waiting);
    else
      return attach_externally(s, waiting);
  }
  decltype(auto) await_resume() {
    // The value is destroyed with the last copy of the shared_future, which may be this one: return a copy.
    if constexpr (std::is_same_v<Future, shared_future<T>> && !std::is_void_v<T>)
      return T(future_.get());
    else
      return future_.get();
  }

 private:
  Future future_;
  chain_continuation continuation_;
};

/// The operation state of schedule(ex).connect(receiver). Requires: it lives until the receiver is called.
template <class E, class Receiver>
class schedule_operation final : task {
 public:
  schedule_operation(E ex, Receiver r) : executor_(std::move(ex)), receiver_(std::move(r)) {}
  schedule_operation(const schedule_operation&) = delete;
  schedule_operation& operator=(const schedule_operation&) = delete;
  void start() noexcept {
    this->info = info_of(executor_);
    this->run = [](task* t, run_mode) noexcept {
      std::move(static_cast<schedule_operation&>(*t).receiver_).set_value();
    };
    execute_on(executor_, this);
  }

 private:
  E executor_;
  Receiver receiver_;
};

template <class E>
class [[nodiscard]] schedule_sender {
 public:
  struct sender_concept {};  // marks a sender for std::execution

  explicit schedule_sender(E ex) : executor_(std::move(ex)) {}

  template <class Receiver>
  auto connect(Receiver r) const {
    return schedule_operation<E, Receiver>(executor_, std::move(r));
  }

  static constexpr bool await_ready() noexcept { return std::is_same_v<E, sequenced_executor>; }
  template <chained P>
  void await_suspend(std::coroutine_handle<P> h) {
    coroutine_chain& c = *h.promise().chain;
    c.suspend_at(h);
    const task_info wanted = info_of(executor_);
    const probe::name_id name = wanted.name != probe::unnamed ? wanted.name : c.info.name;
    c.info = {name, wanted.key != probe::no_key ? wanted.key : c.info.key, wanted.where};
    const E there = executor_;  // execute_on() may destroy the coroutine's frame, and *this in it, before it returns
    execute_on(there, &c);
  }
  static constexpr void await_resume() noexcept {}

 private:
  E executor_;
};

struct yield_awaiter {
  static bool await_ready() noexcept;
  template <chained P>
  void await_suspend(std::coroutine_handle<P> h) const {
    wait(*h.promise().chain, h);
  }
  static constexpr void await_resume() noexcept {}

 private:
  static void wait(coroutine_chain& c, std::coroutine_handle<> at);
};

/// On an external thread, the thread sleeps.
class sleep_awaiter {
 public:
  explicit sleep_awaiter(double seconds);
  bool await_ready();
  template <chained P>
  void await_suspend(std::coroutine_handle<P> h) {
    wait(*h.promise().chain, h);
  }
  void await_resume() noexcept;

 private:
  void wait(coroutine_chain& c, std::coroutine_handle<> at);
  double seconds_;
  timer alarm_;
};

}  // namespace detail

/// Waits for the future and returns its result, as get() does, but the coroutine waits without a stack. A future is
/// empty afterwards. The last form returns a copy, since it may own the last reference.
template <class T>
auto operator co_await(future<T>&& f) {
  return detail::future_awaiter<T, future<T>>(std::move(f));
}
template <class T>
auto operator co_await(future<T>& f) {
  return detail::future_awaiter<T, future<T>&>(f);
}
template <class T>
auto operator co_await(const shared_future<T>& f) {
  return detail::future_awaiter<T, const shared_future<T>&>(f);
}
template <class T>
auto operator co_await(shared_future<T>&& f) {
  return detail::future_awaiter<T, shared_future<T>>(std::move(f));
}

// when_all of coroutines. Part of coroutine.hpp.

/// The result of a task<void> in a tuple of results.
struct no_value {
  friend bool operator==(no_value, no_value) noexcept = default;
};

namespace detail {

/// The children of a when_all, stored in the frame of the coroutine that awaits it. The first child runs in place of
/// its parent, the others are tasks. The child that ends last resumes the parent; each one before takes a sibling from
/// the worker's deque, if it was not stolen, and runs it.
///
/// Invariant: `missing` counts the children that have not ended. The child that decrements it to zero resumes the
/// parent; no other child may access the fork after its decrement.
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
  /// Starts the prepared children[0 .. n). Returns the coroutine to run in place of the parent.
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
    // Braces guarantee the order: the exception of the first failed task in argument order is thrown.
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
