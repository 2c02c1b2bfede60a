// thread and this_thread: as in the standard, for tasks.
//
// There is no native_handle(): a task resumes on any worker.
// Thread safety: as std::thread. Cost: that of async. Example: thread_test.cpp.
#pragma once

#include <compare>
#include <iosfwd>
#include <memory>  // std::hash

#include "rt/async.hpp"
#include "rt/stop_token.hpp"

namespace plx {

class thread;

namespace detail {

/// The callable of a thread: an exception thrown by it ends the program.
template <class F>
struct thread_body {
  template <class G>
  thread_body(G&& g) : f(std::forward<G>(g)) {}  // NOLINT: implicit, async_state makes it from the callable
  template <class... A>
  void operator()(A&&... args) noexcept {
    std::apply(std::move(f), std::forward_as_tuple(std::forward<A>(args)...));  // calls members too
  }
  F f;
};

struct id_of_caller;

void yield_now();
void sleep_until(time_limit limit);
const void* current_task_id() noexcept;

}  // namespace detail

class thread {
 public:
  /// Identifies a running task; a default-constructed id identifies none.
  class id {
   public:
    id() noexcept = default;
    [[nodiscard]] const void* value() const noexcept { return task_; }

   private:
    explicit id(const void* task) noexcept : task_(task) {}
    friend thread;
    friend struct detail::id_of_caller;

    const void* task_ = nullptr;
  };

  thread() noexcept = default;
  /// Runs `f(args...)` as a task. An exception thrown by it ends the program, as in std::thread.
  template <class F, class... A>
  requires(!std::is_same_v<std::remove_cvref_t<F>, thread>) explicit thread(F&& f, A&&... args) {
    static_assert(std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>,
                  "a thread's callable must be callable with copies of the arguments");
    using state = detail::async_state<void, detail::thread_body<std::decay_t<F>>, std::decay_t<A>...>;
    auto* s = detail::make_state<state>(task_info{probe::register_callable_name(f)}, std::forward<F>(f),
                                        std::forward<A>(args)...);
    id_ = id(s->alone());
    s->start();
    end_ = detail::adopt_state<void>(s);
  }
  thread(thread&& o) noexcept : end_(std::move(o.end_)), id_(std::exchange(o.id_, id())) {}
  /// Ends the program if this thread is joinable, as in std::thread.
  thread& operator=(thread&& o) noexcept {
    if (joinable()) std::terminate();
    end_ = std::move(o.end_);
    id_ = std::exchange(o.id_, id());
    return *this;
  }
  ~thread() {
    if (joinable()) std::terminate();
  }

  [[nodiscard]] bool joinable() const noexcept { return end_.valid(); }
  [[nodiscard]] id get_id() const noexcept { return id_; }
  /// Throws std::system_error: invalid_argument if not joinable, resource_deadlock_would_occur for the running task.
  void join() {
    check_joinable(true);
    end_.get();
    id_ = id();
  }
  /// Throws std::system_error(invalid_argument) if not joinable.
  void detach() {
    check_joinable(false);
    end_ = {};
    id_ = id();
  }
  void swap(thread& o) noexcept {
    std::swap(end_, o.end_);
    std::swap(id_, o.id_);
  }
  friend void swap(thread& a, thread& b) noexcept { a.swap(b); }
  /// The number of workers of the caller's runtime; without a runtime, the number that default options give.
  /// 0 if unknown.
  static unsigned hardware_concurrency() noexcept;

 private:
  void check_joinable(bool by_another) const;

  future<void> end_;
  id id_;
};

[[nodiscard]] inline bool operator==(thread::id a, thread::id b) noexcept { return a.value() == b.value(); }
[[nodiscard]] inline std::strong_ordering operator<=>(thread::id a, thread::id b) noexcept {
  return std::compare_three_way{}(a.value(), b.value());
}
template <class C, class Traits>
std::basic_ostream<C, Traits>& operator<<(std::basic_ostream<C, Traits>& out, thread::id i) {
  if (i.value() == nullptr) return out << "thread::id of no task";
  return out << i.value();
}

struct detail::id_of_caller {
  static thread::id get() noexcept { return thread::id(current_task_id()); }
};

namespace this_thread {

/// The id of the running task, or of the thread if the caller is not a task.
inline thread::id get_id() noexcept { return detail::id_of_caller::get(); }
/// Lets other tasks run.
inline void yield() { detail::yield_now(); }
/// Suspends the task; its worker runs other tasks.
template <class Duration>
void sleep_for(const Duration& d) {
  detail::sleep_until(detail::time_limit::after(d));
}
template <class TimePoint>
void sleep_until(const TimePoint& t) {
  detail::sleep_until(detail::time_limit::at(t));
}

}  // namespace this_thread

/// A future that becomes ready after the given time; a task sleeps until then.
template <class Duration, class T>
future<std::decay_t<T>> make_ready_future_after(const Duration& d, T&& value) {
  return async([d, v = std::decay_t<T>(std::forward<T>(value))]() mutable {
    this_thread::sleep_for(d);
    return std::move(v);
  });
}
template <class Duration>
future<void> make_ready_future_after(const Duration& d) {
  return async([d] { this_thread::sleep_for(d); });
}
template <class TimePoint, class T>
future<std::decay_t<T>> make_ready_future_at(const TimePoint& t, T&& value) {
  return async([t, v = std::decay_t<T>(std::forward<T>(value))]() mutable {
    this_thread::sleep_until(t);
    return std::move(v);
  });
}
template <class TimePoint>
future<void> make_ready_future_at(const TimePoint& t) {
  return async([t] { this_thread::sleep_until(t); });
}
}  // namespace plx

template <>
struct std::hash<plx::thread::id> {
  std::size_t operator()(plx::thread::id i) const noexcept { return std::hash<const void*>()(i.value()); }
};

namespace plx {

/// jthread: a thread that is requested to stop and joined when it is destroyed, as in the standard.
///
/// Thread safety: as std::jthread. Cost: that of async, and one allocation for the stop state. Example:
/// jthread_test.cpp.
class jthread {
 public:
  using id = thread::id;

  jthread() noexcept : source_(nostopstate) {}
  /// Runs `f(stop_token, args...)`, or `f(args...)` if it takes no token, as a task.
  template <class F, class... A>
  requires(!std::is_same_v<std::remove_cvref_t<F>, jthread>) explicit jthread(F&& f, A&&... args)
      : thread_(start(source_, std::forward<F>(f), std::forward<A>(args)...)) {}
  jthread(jthread&&) noexcept = default;
  /// Requests the previous thread of this object to stop, and waits for it.
  jthread& operator=(jthread&& o) noexcept {
    jthread(std::move(o)).swap(*this);
    return *this;
  }
  ~jthread() { end(); }

  [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }
  [[nodiscard]] id get_id() const noexcept { return thread_.get_id(); }
  /// Throws std::system_error as thread::join() does.
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }
  void swap(jthread& o) noexcept {
    std::swap(source_, o.source_);
    thread_.swap(o.thread_);
  }
  friend void swap(jthread& a, jthread& b) noexcept { a.swap(b); }

  [[nodiscard]] stop_source get_stop_source() const noexcept { return source_; }
  [[nodiscard]] stop_token get_stop_token() const noexcept { return source_.get_token(); }
  bool request_stop() noexcept { return source_.request_stop(); }
  static unsigned hardware_concurrency() noexcept { return thread::hardware_concurrency(); }

 private:
  template <class F, class... A>
  static thread start(const stop_source& source, F&& f, A&&... args) {
    if constexpr (std::is_invocable_v<std::decay_t<F>, stop_token, std::decay_t<A>...>)
      return thread(std::forward<F>(f), source.get_token(), std::forward<A>(args)...);
    else
      return thread(std::forward<F>(f), std::forward<A>(args)...);
  }
  void end() noexcept {
    if (!joinable()) return;
    request_stop();
    join();
  }

  stop_source source_;
  thread thread_;
};

}  // namespace plx
