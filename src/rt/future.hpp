// future, shared_future, promise: as in the standard's <future>, for tasks, with continuations (packaged_task and async
// have their own headers). Unlike the future of std::async, no future waits in its destructor.
//
// Thread safety: as in the standard: one thread at a time per future object; each user has its own copy of a
// shared_future. wait and get may be called by tasks (the task suspends, its worker runs other tasks) and by external
// threads (the thread blocks). Cost: docs/runtime.md. Example: future_test.cpp, examples/02_futures.cpp.
#pragma once

#include <atomic>
#include <tuple>  // allocator_arg_t
#include <type_traits>
#include <utility>

#include "rt/any_executor.hpp"
#include "rt/future/future_state.hpp"

namespace plx {

enum class future_status { ready, timeout, deferred };

/// How a call is executed. async: as a new task. deferred: by the first caller that waits for it. fork: as a task that
/// starts immediately, while another worker may take over the caller. sync: in the caller; a continuation runs in the
/// task that completes the future (so it should be short), or in a new task if little of that task's stack is free.
/// If several policies are allowed, the order of precedence is async, fork, sync, deferred.
enum class launch : unsigned { async = 1, deferred = 2, sync = 4, fork = 8 };

constexpr launch operator|(launch a, launch b) noexcept {
  return static_cast<launch>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr launch operator&(launch a, launch b) noexcept {
  return static_cast<launch>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr launch operator^(launch a, launch b) noexcept {
  return static_cast<launch>(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
}
constexpr launch operator~(launch a) noexcept { return static_cast<launch>(~static_cast<unsigned>(a) & 15u); }
constexpr launch& operator|=(launch& a, launch b) noexcept { return a = a | b; }
constexpr launch& operator&=(launch& a, launch b) noexcept { return a = a & b; }
constexpr launch& operator^=(launch& a, launch b) noexcept { return a = a ^ b; }

template <class T>
class future;
template <class T>
class shared_future;

namespace detail {

template <class T>
struct future_access;  // gives the runtime access to the state of a future

template <class F>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<future<T>> = true;
template <class T>
inline constexpr bool is_future<shared_future<T>> = true;

/// The type of the result of a future.
template <class Future>
struct future_value;
template <class T>
struct future_value<future<T>> {
  using type = T;
};
template <class T>
struct future_value<shared_future<T>> {
  using type = T;
};

/// The policy to use among those allowed.
constexpr launch chosen(launch allowed) noexcept {
  for (launch l : {launch::async, launch::fork, launch::sync})
    if ((allowed & l) == l) return l;
  return launch::deferred;
}

template <class Future, class F, bool Sync>
auto then_on(Future&& source, task_info info, F&& f);
template <class Inner>
auto unwrap_on(future<Inner>&& outer);
template <class Future, class Place, class F>
auto then_at(Future&& source, Place place, task_info info, F&& f);

/// Common base of future and shared_future.
template <class T>
class future_base {
 public:
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  /// True if get() would not wait.
  [[nodiscard]] bool is_ready() const { return state_.checked().ready(); }
  /// Throws future_error(no_state) when not valid.
  void wait() const { state_.checked().wait(); }
  template <class Duration>
  future_status wait_for(const Duration& d) const {
    return wait_within(time_limit::after(d));
  }
  template <class TimePoint>
  future_status wait_until(const TimePoint& t) const {
    return wait_within(time_limit::at(t));
  }

 protected:
  future_base() noexcept = default;
  explicit future_base(state_ref<T> s) noexcept : state_(std::move(s)) {}

  future_status wait_within(time_limit limit) const {
    if (state_.checked().deferred()) return future_status::deferred;
    return state_->wait_until(limit) ? future_status::ready : future_status::timeout;
  }
  /// `takes`: the result is not read again afterwards.
  future_state<T>& wait_for_result(bool takes = false) const {
    future_state<T>& s = state_.checked();
    if (takes)
      s.wait_and_take();
    else
      s.wait();
    if (s.error()) std::rethrow_exception(s.error());
    return s;
  }

  state_ref<T> state_;
  template <class>
  friend struct future_access;
};

}  // namespace detail

/// The only reader of a result.
template <class T>
class [[nodiscard]] future : public detail::future_base<T> {
 public:
  future() noexcept = default;
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;
  /// Becomes ready with the inner future; see unwrap().
  future(future<future>&& outer) : future(detail::unwrap_on(std::move(outer))) {}

  /// For a future of a future: a future that becomes ready with the inner one and has its result. An exception of the
  /// outer future is rethrown by get(); an inner future without a state gives future_error(broken_promise). This future
  /// is empty afterwards.
  auto unwrap() requires detail::is_future<T> { return detail::unwrap_on(std::move(*this)); }

  /// Waits, then moves the result out; the future is empty afterwards. Rethrows the exception of the task.
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

  /// Calls `f(future)` in a new task once this future is ready, and returns the future of its result. This future is
  /// empty afterwards.
  template <class F>
  auto then(F&& f) {
    return then(task_info{}, std::forward<F>(f));
  }
  template <class F>
  auto then(task_info info, F&& f) {
    return detail::then_on<future, F, false>(std::move(*this), info, std::forward<F>(f));
  }
  /// As above, on an executor; see rt/executor.hpp.
  template <any_executor E, class F>
  auto then(const E& ex, F&& f) {
    return detail::then_at(std::move(*this), detail::executor_place<E>{ex}, detail::info_of(ex), std::forward<F>(f));
  }
  template <class F>
  auto then(launch where, F&& f) {
    if (detail::chosen(where) == launch::sync)
      return detail::then_on<future, F, true>(std::move(*this), {}, std::forward<F>(f));
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

  /// Waits; the reference is valid as long as any copy of this future exists.
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
  template <class F>
  auto then(launch where, F&& f) const {
    if (detail::chosen(where) == launch::sync)
      return detail::then_on<shared_future, F, true>(shared_future(*this), {}, std::forward<F>(f));
    return then(task_info{}, std::forward<F>(f));
  }
  template <any_executor E, class F>
  auto then(const E& ex, F&& f) const {
    return detail::then_at(shared_future(*this), detail::executor_place<E>{ex}, detail::info_of(ex),
                           std::forward<F>(f));
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
  /// For the only reader of the result.
  static future_state<T>& result(const future_base<T>& f) { return f.wait_for_result(true); }
  static state_ref<T>& state(future_base<T>& f) noexcept { return f.state_; }
};

template <class T>
future<T> adopt_state(future_state<T>* s) noexcept {
  return future_access<T>::make(state_ref<T>(s));
}

/// The state of a future or shared_future.
template <class T>
state_ref<T>& state_of(future_base<T>& f) noexcept {
  return future_access<T>::state(f);
}

/// A continuation: the new future's state, the task that fills it, and the link to the old future, in one allocation.
template <class Future, class F, class R, class Place>
class then_state final : public future_state<R>, private continuation {
 public:
  then_state(Future&& source, Place place, task_info info, F f)
      : future_state<R>(destroy_state<then_state>, 2),
        source_(std::move(source)),
        place_(std::move(place)),
        f_(std::move(f)) {
    task_.run = run;
    task_.owner = this;
    task_.info = info;
    this->fire = [](continuation* c) {
      auto& self = static_cast<then_state&>(*c);
      const Place where = self.place_;  // the state may be destroyed once the task is submitted
      where.submit(&self.task_);
    };
  }
  void start() { state_of(source_)->attach(*this); }

 private:
  static void run(task* t, run_mode mode) {
    auto* self = const_cast<then_state*>(static_cast<const then_state*>(t->owner));
    // Destroy the callable and the input before the result becomes visible. Otherwise a long chain of continuations
    // would keep all its results, and the last future would destroy them recursively.
    self->complete_with_result_of(
        [self]() -> R {
          F f = std::move(self->f_);
          Future source = std::move(self->source_);
          return std::move(f)(std::move(source));
        },
        mode == run_mode::scheduled);
    self->release();
  }

  task task_;
  Future source_;
  [[no_unique_address]] Place place_;
  F f_;
};

template <class Future, class Place, class F>
auto then_at(Future&& source, Place place, task_info info, F&& f) {
  using stored_f = std::decay_t<F>;
  using R = std::invoke_result_t<stored_f, Future>;
  (void)state_of(source).checked();
  if (info.name == probe::unnamed) info.name = probe::register_callable_name(f);
  using state = then_state<Future, stored_f, R, Place>;
  auto* s = make_state<state>(std::move(source), std::move(place), info, std::forward<F>(f));
  s->start();
  return adopt_state<R>(s);
}

template <class Future, class F, bool Sync>
auto then_on(Future&& source, task_info info, F&& f) {
  using place = std::conditional_t<Sync, completer_place, home_place>;
  return then_at(std::move(source), place(), info, std::forward<F>(f));
}

/// Waits, without a task, for the outer future and then for the inner one.
template <class Inner>
class unwrap_state final : public future_state<typename future_value<Inner>::type>, private continuation {
 public:
  explicit unwrap_state(future<Inner>&& outer)
      : future_state<typename future_value<Inner>::type>(destroy_state<unwrap_state>, 2), outer_(std::move(outer)) {}
  void start() {
    this->fire = [](continuation* c) { static_cast<unwrap_state&>(*c).outer_ready(); };
    state_of(outer_).checked().attach(*this);
  }

 private:
  void outer_ready() {
    auto& outer = state_of(outer_).checked();
    if (outer.error()) return end_with(outer.error());
    inner_ = std::move(outer.value());
    outer_ = {};
    if (!inner_.valid()) return end_with(std::make_exception_ptr(future_error(future_errc::broken_promise)));
    this->fire = [](continuation* c) { static_cast<unwrap_state&>(*c).inner_ready(); };
    state_of(inner_).checked().attach(*this);
  }
  void inner_ready() {
    auto& inner = state_of(inner_).checked();
    if (inner.error()) return end_with(inner.error());
    std::exception_ptr e;
    try {
      if constexpr (std::is_same_v<Inner, future<typename future_value<Inner>::type>>)
        this->emplace(std::move(inner.value()));
      else
        this->emplace(inner.value());
    } catch (...) {
      e = std::current_exception();
    }
    end_with(std::move(e));
  }
  // The inputs are destroyed before the result becomes visible; otherwise a loop of futures would destroy all its
  // states recursively.
  void end_with(std::exception_ptr e) {
    outer_ = {};
    inner_ = {};
    if (e != nullptr)
      this->complete_with(std::move(e));
    else
      this->complete();
    this->release();
  }

  future<Inner> outer_;
  Inner inner_;
};

template <class Inner>
auto unwrap_on(future<Inner>&& outer) {
  (void)state_of(outer).checked();
  auto* s = make_state<unwrap_state<Inner>>(std::move(outer));
  auto result = adopt_state<typename future_value<Inner>::type>(s);
  s->start();
  return result;
}

/// A state in memory from a user-supplied allocator.
template <class T, class Allocator>
class allocated_state final : public future_state<T> {
  using traits = typename std::allocator_traits<Allocator>::template rebind_traits<allocated_state>;
  using allocator = typename traits::allocator_type;

 public:
  explicit allocated_state(const allocator& a) noexcept : future_state<T>(destroy, 1u), allocator_(a) {}
  static allocated_state* make(const Allocator& given) {
    allocator a(given);
    return ::new (static_cast<void*>(std::to_address(traits::allocate(a, 1)))) allocated_state(a);
  }

 private:
  static void destroy(future_state_base* base) noexcept {
    auto* s = static_cast<allocated_state*>(base);
    const auto memory = std::pointer_traits<typename traits::pointer>::pointer_to(*s);
    allocator a(std::move(s->allocator_));
    s->~allocated_state();
    traits::deallocate(a, memory, 1);
  }
  [[no_unique_address]] allocator allocator_;
};

template <class T>
class promise_base {
 public:
  promise_base() : state_(make_state<future_state<T>>(destroy_state<future_state<T>>, 1u)) {}
  template <class Allocator>
  promise_base(std::allocator_arg_t, const Allocator& a) : state_(allocated_state<T, Allocator>::make(a)) {}
  promise_base(promise_base&& o) noexcept
      : state_(std::move(o.state_)),
        retrieved_(o.retrieved_),
        satisfied_(o.satisfied_.load(std::memory_order_relaxed)) {}
  promise_base& operator=(promise_base&& o) noexcept {
    if (this == &o) return *this;
    abandon();
    state_ = std::move(o.state_);
    retrieved_ = o.retrieved_;
    satisfied_.store(o.satisfied_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }
  ~promise_base() { abandon(); }

  /// Throws future_error(future_already_retrieved) on the second call.
  future<T> get_future() {
    (void)state_.checked();
    if (std::exchange(retrieved_, true)) throw_future_error(future_errc::future_already_retrieved);
    return future_access<T>::make(state_);
  }
  void swap(promise_base& o) noexcept { std::swap(*this, o); }
  friend void swap(promise_base& a, promise_base& b) noexcept { a.swap(b); }
  /// Throws future_error(promise_already_satisfied) on the second call.
  void set_exception(std::exception_ptr e) { claim().complete_with(std::move(e)); }
  /// The future receives the exception when the running task ends; see set_value_at_thread_exit().
  void set_exception_at_thread_exit(std::exception_ptr e) {
    store_at_task_end([](future_state<T>&) {}, std::move(e));
  }

 protected:
  /// If the constructor of the value throws, the promise is unchanged.
  template <class... V>
  void satisfy(V&&... v) {
    future_state<T>& s = claim();
    try {
      s.emplace(std::forward<V>(v)...);
    } catch (...) {
      satisfied_.store(false, std::memory_order_release);  // pairs with the acquire in claim()
      throw;
    }
    s.complete();
  }

  template <class... V>
  void satisfy_at_task_end(V&&... v) {
    store_at_task_end([&](future_state<T>& s) { s.emplace(std::forward<V>(v)...); }, nullptr);
  }

 private:
  template <class Store>
  void store_at_task_end(Store store, std::exception_ptr e) {
    future_state<T>& s = claim();
    try {
      result_at_task_end result(s);
      store(s);
      result.arrange(std::move(e));
    } catch (...) {
      satisfied_.store(false, std::memory_order_release);  // pairs with the acquire in claim()
      throw;
    }
  }
  // Only one of several concurrent callers succeeds.
  future_state<T>& claim() {
    future_state<T>& s = state_.checked();
    // acquire: pairs with the release after a failed attempt.
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

/// The writer of a result. If it is destroyed without setting one, its future throws future_error(broken_promise).
/// set_value and set_exception throw future_error(promise_already_satisfied) on every call but the first.
/// The ..._at_thread_exit() forms store the result immediately; the future becomes ready when the calling task (or
/// external thread) ends (docs/runtime.md, "Conformity").
template <class T>
class promise : public detail::promise_base<T> {
 public:
  promise() = default;
  /// Allocates the state of the future with the given allocator.
  template <class Allocator>
  promise(std::allocator_arg_t tag, const Allocator& a) : detail::promise_base<T>(tag, a) {}
  void set_value(const T& v) { this->satisfy(v); }
  void set_value(T&& v) { this->satisfy(std::move(v)); }
  void set_value_at_thread_exit(const T& v) { this->satisfy_at_task_end(v); }
  void set_value_at_thread_exit(T&& v) { this->satisfy_at_task_end(std::move(v)); }
};

template <class T>
class promise<T&> : public detail::promise_base<T&> {
 public:
  promise() = default;
  template <class Allocator>
  promise(std::allocator_arg_t tag, const Allocator& a) : detail::promise_base<T&>(tag, a) {}
  void set_value(T& v) { this->satisfy(__builtin_addressof(v)); }
  void set_value_at_thread_exit(T& v) { this->satisfy_at_task_end(__builtin_addressof(v)); }
};

template <>
class promise<void> : public detail::promise_base<void> {
 public:
  promise() = default;
  template <class Allocator>
  promise(std::allocator_arg_t tag, const Allocator& a) : detail::promise_base<void>(tag, a) {}
  void set_value() { this->satisfy(); }
  void set_value_at_thread_exit() { this->satisfy_at_task_end(); }
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

template <class T, class Allocator>
struct std::uses_allocator<plx::promise<T>, Allocator> : std::true_type {};
