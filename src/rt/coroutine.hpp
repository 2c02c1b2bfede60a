// Coroutines: task<T>, co_await on futures, and coroutines that return futures.
//
//   plx::task<int> sum(plx::future<int> a, plx::future<int> b) {
//     co_return co_await std::move(a) + co_await std::move(b);
//   }
//   plx::future<int> f = plx::spawn(sum(x, y));  // a task of the runtime
//   int s = plx::sync_wait(sum(x, y));           // waits for it
//
// A coroutine that waits by co_await keeps its frame (a small block from the worker's pool) but no stack: it resumes as
// a new task, with the same name, key and placement. It may also wait as any function does (get(), lock()); then the
// fiber that it runs on waits. After a co_await it may be on another worker, so do not hold a lock across one.
// Thread safety: a task<T> is used by one thread at a time. Cost: awaiting a task costs its frame (a block from the
// pool) and two indirect calls. Example: coroutine_test.cpp, examples/07_coroutines.cpp.
#pragma once

#include "base/assert.hpp"
#include "rt/future/awaiters.hpp"

namespace plx {

/// A lazy coroutine: it starts when it is awaited, or passed to spawn() or sync_wait(), and its result goes to that
/// caller. To cancel a coroutine that has not started, destroy it: its arguments are destroyed.
template <class T = void>
class [[nodiscard]] task {
 public:
  /// Required by the compiler for a coroutine's return type.
  class promise_type : public detail::coroutine_promise<T> {
   public:
    task get_return_object(std::source_location here = std::source_location::current()) noexcept {
      this->where = here;
      return task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };
  using value_type = T;

  task() noexcept = default;
  task(task&& o) noexcept : frame_(std::exchange(o.frame_, {})) {}
  task& operator=(task&& o) noexcept {
    task(std::move(o)).swap(*this);
    return *this;
  }
  /// Requires: the coroutine has not started, or has ended.
  ~task() {
    if (!frame_) return;
    PLX_ASSERT((frame_.promise().chain == nullptr || frame_.done()) && "a coroutine was destroyed while suspended");
    frame_.destroy();
  }
  /// Exchanges the coroutines.
  void swap(task& o) noexcept { std::swap(frame_, o.frame_); }

  /// False after a move.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(frame_); }

  /// Requires: valid(). Returns the result, or rethrows the exception of the coroutine.
  auto operator co_await() && noexcept { return detail::task_awaiter<T>(std::move(*this)); }

 private:
  explicit task(std::coroutine_handle<promise_type> f) noexcept : frame_(f) {}
  friend struct detail::task_access;
  std::coroutine_handle<promise_type> frame_{};
};

namespace detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<plx::task<T>> = true;

/// A future whose result comes from a coroutine: state, chain and task in one allocation.
template <class T>
class spawn_state final : public future_state<T>, private coroutine_chain {
 public:
  spawn_state(task_info i, plx::task<T>&& t)
      : future_state<T>(destroy_state<spawn_state>, 2), coroutine_chain(end), coroutine_(std::move(t)) {
    const auto frame = task_access::frame(coroutine_);
    PLX_ASSERT(frame && "spawn of a moved-from task");
    if (i.name == probe::unnamed) i.name = name_of_coroutine(frame.promise().where);
    this->info = i;
    this->at = frame;
    this->owner = this;
    this->own_task_ = this;
    frame.promise().chain = this;
  }
  void start() { submit_task(this); }
  /// Never runs inline in its waiter's frame: it is not in the waiter's deque.
  task* alone() noexcept {
    this->own_task_ = nullptr;
    return this;
  }

 private:
  static std::coroutine_handle<> end(coroutine_chain& c) noexcept {
    auto& self = static_cast<spawn_state&>(c);
    auto error = self.emplace_result_of_coroutine();
    self.coroutine_ = {};  // the contents of its frame must not outlive the task
    if (error)
      self.complete_with(std::move(error));
    else
      self.complete();
    self.release();
    return std::noop_coroutine();
  }
  std::exception_ptr emplace_result_of_coroutine() noexcept {
    auto& promise = task_access::frame(coroutine_).promise();
    if (promise.error()) return promise.error();
    return this->emplace_result_of([&promise]() -> T { return promise.take(); });
  }

  plx::task<T> coroutine_;
};

/// Lets sync_wait() wait for the end of its coroutine.
struct waited_chain final : coroutine_chain, future_state_base {
  waited_chain() noexcept : coroutine_chain(end), future_state_base(nullptr, 1) {}
  static std::coroutine_handle<> end(coroutine_chain& c) noexcept {
    static_cast<waited_chain&>(c).complete();
    return std::noop_coroutine();
  }
};

/// The promise of a coroutine that returns a future. The frame is destroyed before the result becomes visible, as the
/// callable of a task is.
template <class T>
class future_promise_base : public chain_link {
 public:
  future_promise_base() : own_chain_(nullptr) { this->chain = &own_chain_; }
  /// Still holds its state only if the coroutine could not start because memory was exhausted.
  ~future_promise_base() {
    if (state_ != nullptr) state_->release();
  }
  future<T> get_return_object(std::source_location where = std::source_location::current()) {
    where_ = where;
    state_ = make_state<future_state<T>>(destroy_state<future_state<T>>, 2u);
    return adopt_state<T>(state_);
  }

  struct start_awaiter {
    static constexpr bool await_ready() noexcept { return false; }
    template <class P>
    static void await_suspend(std::coroutine_handle<P> h) {
      h.promise().own_chain_.name = name_of_coroutine(h.promise().where_);
      h.promise().own_chain_.begin(h);
    }
    static constexpr void await_resume() noexcept {}
  };
  struct end_awaiter {
    static constexpr bool await_ready() noexcept { return false; }
    template <class P>
    static void await_suspend(std::coroutine_handle<P> h) noexcept {
      future_state<T>* s = std::exchange(h.promise().state_, nullptr);
      std::exception_ptr error = std::move(h.promise().error_);
      h.destroy();
      if (error)
        s->complete_with(std::move(error));
      else
        s->complete();
      s->release();
    }
    static constexpr void await_resume() noexcept {}
  };
  static constexpr start_awaiter initial_suspend() noexcept { return {}; }
  static constexpr end_awaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

 protected:
  future_state<T>* state_ = nullptr;

 private:
  std::exception_ptr error_;
  coroutine_chain own_chain_;
  std::source_location where_;
};

template <class T>
struct future_promise : future_promise_base<T> {
  template <class V = T>
  requires std::is_constructible_v<T, V>
  void return_value(V&& v) { this->state_->emplace(std::forward<V>(v)); }
};
template <class T>
struct future_promise<T&> : future_promise_base<T&> {
  void return_value(T& v) noexcept { this->state_->emplace(__builtin_addressof(v)); }
};
template <>
struct future_promise<void> : future_promise_base<void> {
  void return_void() noexcept { this->state_->emplace(); }
};

}  // namespace detail

/// Runs the coroutine as a task of its own, and returns the future of its result. If `info` has no name, the task has
/// the name of the coroutine.
template <class T>
future<T> spawn(task_info info, task<T> t) {
  auto* s = detail::make_state<detail::spawn_state<T>>(info, std::move(t));
  s->start();
  return detail::adopt_state<T>(s);
}
template <class T>
future<T> spawn(task<T> t) {
  return spawn(task_info{}, std::move(t));
}

/// Runs the coroutine, on the caller's stack until it first waits, and returns its result when it has ended. For tasks
/// and external threads; a coroutine uses co_await instead.
template <class T>
T sync_wait(task<T> t) {
  const auto frame = detail::task_access::frame(t);
  PLX_ASSERT(frame && "sync_wait of a moved-from task");
  detail::waited_chain chain;
  frame.promise().chain = &chain;
  chain.begin(frame);
  chain.wait();
  return frame.promise().take();
}

/// Awaited by a coroutine: runs all tasks, in parallel if workers are free, and resumes the coroutine when all have
/// ended, with a tuple of their results (no_value for void; void if all are void). If several throw, the exception of
/// the first one in argument order is thrown. No task starts before the result is awaited.
template <class... T>
requires(sizeof...(T) > 0) auto when_all(task<T>... tasks) {
  return detail::tuple_fork<T...>(std::tuple<task<T>...>(std::move(tasks)...));
}
/// As above, for a number known only at run time: the results are in a vector. T is not a reference.
template <class T>
auto when_all(std::vector<task<T>> tasks) {
  return detail::vector_fork<T>(std::move(tasks));
}

/// As above, on an executor.
template <any_executor E, class T>
future<T> spawn(const E& ex, task<T> t) {
  auto* s = detail::make_state<detail::spawn_state<T>>(detail::info_of(ex), std::move(t));
  auto result = detail::adopt_state<T>(s);
  detail::execute_on(ex, s->alone());
  return result;
}

/// co_await schedule(ex): the coroutine resumes as a task of `ex` and from then on stays in its runtime, with its name,
/// key and placement. The result is also a sender in the sense of std::execution: connect(receiver) returns an
/// operation whose start() causes receiver.set_value() to be called on `ex`
/// (docs/decisions/0004-the-seam-for-senders.md).
template <any_executor E>
auto schedule(E ex) {
  return detail::schedule_sender<E>(std::move(ex));
}

namespace this_task {

/// co_await this_task::yield(): the coroutine resumes after everything in the injection queue.
inline auto yield() noexcept { return detail::yield_awaiter{}; }
/// co_await this_task::sleep_for(d): suspends the coroutine, without holding a stack. Returns immediately if d <= 0.
template <class Duration>
auto sleep_for(const Duration& d) {
  return detail::sleep_awaiter(detail::seconds_of(d));
}
/// Suspends the coroutine until the clock of `t` has reached it.
template <class TimePoint>
task<> sleep_until(TimePoint t) {
  auto limit = detail::time_limit::at(t);
  do {
    co_await detail::sleep_awaiter(limit.left_s());
  } while (!limit.passed());
}

}  // namespace this_task
}  // namespace plx

/// A coroutine that returns a future starts immediately, on its caller's stack, and returns to the caller at its end or
/// when it first waits by co_await.
template <class T, class... A>
struct std::coroutine_traits<plx::future<T>, A...> {
  using promise_type = plx::detail::future_promise<T>;
};
