// What a coroutine does when it awaits a task or a future. Part of coroutine.hpp.
#pragma once

#include <atomic>

#include "rt/detail/coroutine_chain.hpp"
#include "rt/detail/timer_queue.hpp"
#include "rt/future.hpp"

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
    PLX_ASSERT(task_.valid() && "co_await on a task that was moved from");
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

}  // namespace plx
