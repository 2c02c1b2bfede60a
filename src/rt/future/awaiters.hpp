// What a coroutine does when it awaits a task or a future. Part of coroutine.hpp.
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

// What all coroutines of the runtime share: where their frames live, how one goes on in another, how they sleep.
//
// Coroutines that await each other form a chain: the outermost one was spawned (or called by sync_wait, or gave a
// future), each other one is awaited by the one before, and one of them at a time can go on. It goes on in another one
// by a tail call, where the compiler makes one. GCC does so only from -O2 on and without sanitizers, and a header
// cannot know; so with GCC each 16th time the coroutine returns to the loop in run_from(), which calls the next one.
// That bounds the stack whatever the flags, and code built with different ones may be mixed. Thread safety: a chain is
// run by one worker at a time; whoever it waits for calls submit(), once per suspend_at(). Cost: docs/runtime.md.
// Example: coroutine_test.cpp.

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

/// Lets somebody else's coroutine `waiting` await ours, which begins at `first`. False when that has ended at once.
bool await_as_foreigner(std::coroutine_handle<> first, chain_link& link, std::coroutine_handle<> waiting);
/// Makes somebody else's coroutine go on as a task when the state is ready. False when it is.
bool attach_as_foreigner(future_state_base& s, std::coroutine_handle<> waiting);

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
    return await_as_foreigner(child, child.promise(), parent);
  }
  T await_resume() { return task_access::frame(task_).promise().take(); }

 private:
  plx::task<T> task_;
};

/// What a chain attaches to the state that it waits for; lives in the coroutine's frame.
struct chain_continuation : continuation {
  /// False when the state is ready: then the coroutine goes on at once.
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

/// Future: future<T> or shared_future<T> when it was given away to co_await, a reference to one when it was not.
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
      return attach_as_foreigner(s, waiting);
  }
  decltype(auto) await_resume() {
    // What a shared future refers to goes with its last copy, which may be the one here.
    if constexpr (std::is_same_v<Future, shared_future<T>> && !std::is_void_v<T>)
      return T(future_.get());
    else
      return future_.get();
  }

 private:
  Future future_;
  chain_continuation continuation_;
};

/// Of an operation that schedule(ex).connect(receiver) makes. Requires: it lives until the receiver is called.
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
  struct sender_concept {};  // what std::execution asks a sender for

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
    const E there = executor_;  // the coroutine's frame, and this in it, may be gone before execute_on() returns
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

/// On a foreign thread, the thread sleeps.
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

/// Waits for the future as get() does, and gives what get() gives: a coroutine waits without a stack, and a future is
/// empty afterwards. The last form gives a copy, since nobody else may keep the result.
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
