// future, shared_future, promise, packaged_task: as in the standard's <future>, for tasks, with continuations.
//
// Thread safety: as the standard's: one thread at a time per future object; a shared_future is copied per user. wait
// and get may be called by tasks (the task waits, its worker goes on) and by foreign threads (the thread waits). Cost:
// docs/runtime.md. Example: future_test.cpp, examples/02_futures.cpp.
#pragma once

#include <atomic>
#include <type_traits>
#include <utility>

#include "rt/detail/future_state.hpp"

namespace plx {

enum class future_status { ready, timeout, deferred };

/// Where a continuation runs: as a task of its own, or in the task that completes the future (for a few instructions).
enum class launch : unsigned { async = 1, deferred = 2, sync = 4 };

template <class T>
class future;
template <class T>
class shared_future;

namespace detail {

template <class T>
struct future_access;  // lets the runtime reach the state of a future

template <class F>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<future<T>> = true;
template <class T>
inline constexpr bool is_future<shared_future<T>> = true;

template <class Future, class F, bool Sync>
auto then_on(Future&& source, task_info info, F&& f);

/// What both kinds of future share.
template <class T>
class future_base {
 public:
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  /// True when get() would not wait.
  [[nodiscard]] bool is_ready() const { return state_.checked().ready(); }
  /// Throws future_error(no_state) when not valid.
  void wait() const { state_.checked().wait(); }
  template <class Duration>
  future_status wait_for(const Duration& d) const {
    return wait_ticks(deadline_in(seconds_of(d)));
  }
  template <class TimePoint>
  future_status wait_until(const TimePoint& t) const {
    return wait_ticks(deadline_in(seconds_until(t)));
  }

 protected:
  future_base() noexcept = default;
  explicit future_base(state_ref<T> s) noexcept : state_(std::move(s)) {}

  future_status wait_ticks(ticks deadline) const {
    if (state_.checked().deferred()) return future_status::deferred;
    return state_->wait_until(deadline) ? future_status::ready : future_status::timeout;
  }
  future_state<T>& wait_for_result() const {
    future_state<T>& s = state_.checked();
    s.wait();
    if (s.error()) std::rethrow_exception(s.error());
    return s;
  }

  state_ref<T> state_;
  template <class>
  friend struct future_access;
};

}  // namespace detail

/// The one reader of a result.
template <class T>
class [[nodiscard]] future : public detail::future_base<T> {
 public:
  future() noexcept = default;
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;

  /// Waits, then moves the result out; the future is empty afterwards. Throws what the task threw.
  T get() {
    const detail::future_base<T> taken = detail::future_access<T>::take(*this);
    auto& s = detail::future_access<T>::result(taken);
    if constexpr (std::is_void_v<T>)
      return;
    else if constexpr (std::is_reference_v<T>)
      return *s.value();
    else
      return std::move(s.value());
  }

  shared_future<T> share() noexcept { return shared_future<T>(std::move(*this)); }

  /// Calls `f(future)` in a new task once this future is ready, and gives the future of what it returns. This future is
  /// empty afterwards.
  template <class F>
  auto then(F&& f) {
    return then(task_info{}, std::forward<F>(f));
  }
  template <class F>
  auto then(task_info info, F&& f) {
    return detail::then_on<future, F, false>(std::move(*this), info, std::forward<F>(f));
  }
  template <class F>
  auto then(launch where, F&& f) {
    if (where == launch::sync) return detail::then_on<future, F, true>(std::move(*this), {}, std::forward<F>(f));
    return then(task_info{}, std::forward<F>(f));
  }

 private:
  explicit future(detail::state_ref<T> s) noexcept : detail::future_base<T>(std::move(s)) {}
  template <class>
  friend struct detail::future_access;
};

/// One of several readers of a result; copies share it.
template <class T>
class shared_future : public detail::future_base<T> {
 public:
  shared_future() noexcept = default;
  shared_future(future<T>&& f) noexcept : detail::future_base<T>(std::move(detail::future_access<T>::state(f))) {}

  /// Waits; the reference holds as long as any copy of this future.
  decltype(auto) get() const {
    auto& s = this->wait_for_result();
    if constexpr (std::is_void_v<T>)
      return;
    else if constexpr (std::is_reference_v<T>)
      return static_cast<T>(*s.value());
    else
      return static_cast<const T&>(s.value());
  }

  template <class F>
  auto then(F&& f) const {
    return then(task_info{}, std::forward<F>(f));
  }
  template <class F>
  auto then(task_info info, F&& f) const {
    return detail::then_on<shared_future, F, false>(shared_future(*this), info, std::forward<F>(f));
  }

 private:
  explicit shared_future(detail::state_ref<T> s) noexcept : detail::future_base<T>(std::move(s)) {}
  template <class>
  friend struct detail::future_access;
};

namespace detail {

template <class T>
struct future_access {
  static future<T> make(state_ref<T> s) noexcept { return future<T>(std::move(s)); }
  static future_base<T> take(future_base<T>& f) noexcept { return future_base<T>(std::move(f.state_)); }
  static future_state<T>& result(const future_base<T>& f) { return f.wait_for_result(); }
  static state_ref<T>& state(future_base<T>& f) noexcept { return f.state_; }
};

template <class T>
future<T> adopt_state(future_state<T>* s) noexcept {
  return future_access<T>::make(state_ref<T>(s));
}

/// The state of any kind of future.
template <class T>
state_ref<T>& state_of(future_base<T>& f) noexcept {
  return future_access<T>::state(f);
}

/// A continuation: the new future's state, the task that fills it, and the link to the old future, in one allocation.
template <class Future, class F, class R, bool Sync>
class then_state final : public future_state<R>, private continuation {
 public:
  then_state(Future&& source, task_info info, F f)
      : future_state<R>(destroy_state<then_state>, 2), source_(std::move(source)), f_(std::move(f)) {
    task_.run = run;
    task_.owner = this;
    task_.info = info;
    this->fire = [](continuation* c) {
      task* t = &static_cast<then_state&>(*c).task_;
      if constexpr (Sync)
        t->run(t, run_mode::taken_back);
      else
        submit_task(t);
    };
  }
  void start() { state_of(source_)->attach(*this); }

 private:
  static void run(task* t, run_mode) {
    auto* self = const_cast<then_state*>(static_cast<const then_state*>(t->owner));
    self->complete_with_result_of([self]() -> R { return std::move(self->f_)(std::move(self->source_)); });
    self->release();
  }

  task task_;
  Future source_;
  F f_;
};

template <class Future, class F, bool Sync>
auto then_on(Future&& source, task_info info, F&& f) {
  using stored_f = std::decay_t<F>;
  using R = std::invoke_result_t<stored_f, Future>;
  (void)state_of(source).checked();
  if (info.name == probe::unnamed) info.name = probe::register_type_name<stored_f>();
  using state = then_state<Future, stored_f, R, Sync>;
  auto* s = make_state<state>(std::move(source), info, std::forward<F>(f));
  s->start();
  return adopt_state<R>(s);
}

template <class T>
class promise_base {
 public:
  promise_base() : state_(make_state<future_state<T>>(destroy_state<future_state<T>>, 1u)) {}
  promise_base(promise_base&& o) noexcept
      : state_(std::move(o.state_)),
        retrieved_(o.retrieved_),
        satisfied_(o.satisfied_.load(std::memory_order_relaxed)) {}
  promise_base& operator=(promise_base&& o) noexcept {
    abandon();
    state_ = std::move(o.state_);
    retrieved_ = o.retrieved_;
    satisfied_.store(o.satisfied_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }
  ~promise_base() { abandon(); }

  /// Throws future_error(future_already_retrieved) the second time.
  future<T> get_future() {
    (void)state_.checked();
    if (std::exchange(retrieved_, true)) throw_future_error(future_errc::future_already_retrieved);
    return future_access<T>::make(state_);
  }
  /// Throws future_error(promise_already_satisfied) the second time.
  void set_exception(std::exception_ptr e) { claim().complete_with(std::move(e)); }

 protected:
  /// What the value's constructor throws leaves the promise as it was.
  template <class... V>
  void satisfy(V&&... v) {
    future_state<T>& s = claim();
    try {
      s.emplace(std::forward<V>(v)...);
    } catch (...) {
      satisfied_.store(false, std::memory_order_release);
      throw;
    }
    s.complete();
  }

 private:
  // Of several threads that try at once, one may.
  future_state<T>& claim() {
    future_state<T>& s = state_.checked();
    // acquire: pairs with the release when an attempt failed.
    if (satisfied_.exchange(true, std::memory_order_acquire))
      throw_future_error(future_errc::promise_already_satisfied);
    return s;
  }
  void abandon() noexcept {
    if (state_ && !satisfied_.load(std::memory_order_relaxed))
      state_->complete_with(std::make_exception_ptr(future_error(future_errc::broken_promise)));
  }

  state_ref<T> state_;
  bool retrieved_ = false;
  std::atomic<bool> satisfied_{false};
};

template <class T, class... V>
future<T> ready_future(V&&... v) {
  auto* s = make_state<future_state<T>>(destroy_state<future_state<T>>, 1u);
  auto result = adopt_state<T>(s);
  s->emplace(std::forward<V>(v)...);
  s->complete();
  return result;
}

}  // namespace detail

/// The writer of a result. Destroyed without one, its future throws future_error(broken_promise).
/// set_value and set_exception throw future_error(promise_already_satisfied) but the first time.
template <class T>
class promise : public detail::promise_base<T> {
 public:
  void set_value(const T& v) { this->satisfy(v); }
  void set_value(T&& v) { this->satisfy(std::move(v)); }
};

template <class T>
class promise<T&> : public detail::promise_base<T&> {
 public:
  void set_value(T& v) { this->satisfy(&v); }
};

template <>
class promise<void> : public detail::promise_base<void> {
 public:
  void set_value() { this->satisfy(); }
};

/// A callable whose result goes to a future.
template <class Signature>
class packaged_task;

template <class R, class... A>
class packaged_task<R(A...)> {
 public:
  packaged_task() noexcept = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, packaged_task>) explicit packaged_task(F&& f)
      : body_(new holder<std::decay_t<F>>(std::forward<F>(f))) {}
  packaged_task(packaged_task&& o) noexcept
      : body_(std::exchange(o.body_, nullptr)), result_(std::move(o.result_)), called_(o.called_) {}
  packaged_task& operator=(packaged_task&& o) noexcept {
    std::swap(body_, o.body_);
    std::swap(result_, o.result_);
    std::swap(called_, o.called_);
    return *this;
  }
  ~packaged_task() { delete body_; }

  [[nodiscard]] bool valid() const noexcept { return body_ != nullptr; }
  future<R> get_future() {
    require_body();
    return result_.get_future();
  }
  /// Throws future_error(promise_already_satisfied) the second time.
  void operator()(A... args) {
    require_body();
    if (std::exchange(called_, true)) detail::throw_future_error(future_errc::promise_already_satisfied);
    try {
      if constexpr (std::is_void_v<R>) {
        body_->call(std::forward<A>(args)...);
        result_.set_value();
      } else {
        result_.set_value(body_->call(std::forward<A>(args)...));
      }
    } catch (...) {
      result_.set_exception(std::current_exception());
    }
  }
  void reset() {
    require_body();
    result_ = promise<R>();
    called_ = false;
  }

 private:
  struct callable {
    virtual ~callable() = default;
    virtual R call(A&&... args) = 0;
  };
  template <class F>
  struct holder final : callable {
    explicit holder(F&& f) : f_(std::move(f)) {}
    explicit holder(const F& f) : f_(f) {}
    R call(A&&... args) override { return f_(std::forward<A>(args)...); }
    F f_;
  };
  void require_body() const {
    if (body_ == nullptr) detail::throw_future_error(future_errc::no_state);
  }

  callable* body_ = nullptr;
  promise<R> result_;
  bool called_ = false;
};

/// A future that is ready from the start.
template <class T>
future<std::decay_t<T>> make_ready_future(T&& value) {
  return detail::ready_future<std::decay_t<T>>(std::forward<T>(value));
}
inline future<void> make_ready_future() { return detail::ready_future<void>(); }
template <class T>
future<T> make_exceptional_future(std::exception_ptr e) {
  promise<T> p;
  p.set_exception(std::move(e));
  return p.get_future();
}

}  // namespace plx
