// The shared state of a future. One word encodes: empty, ready, or the list of waiters.
//
// Thread safety: complete() is called once, by the producer; all other members by any thread. Cost: one exchange at
// completion, one acquire load to read. Example: future_test.cpp.
//
// Invariants of `word_`: 0 while nothing is attached; `ready_word`, permanently, once the result is available;
// otherwise the head of a list of continuations, newest first, each of which lives in the frame or state of its waiter.
// The result is written before the exchange to ready (release) and read after a load of ready (acquire).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"
#include "rt/core/pool.hpp"
#include "rt/core/task.hpp"
#include "rt/measure/origin.hpp"
#include "rt/sync/deadline.hpp"
#include "rt/sync/task_end.hpp"

namespace plx {

// The errors of misused futures and promises, named as in the standard's <future>.

enum class future_errc { broken_promise = 1, future_already_retrieved, promise_already_satisfied, no_state };

/// The category of future_errc; its name is "future".
[[nodiscard]] const std::error_category& future_category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(future_errc e) noexcept {
  return {static_cast<int>(e), future_category()};
}
[[nodiscard]] inline std::error_condition make_error_condition(future_errc e) noexcept {
  return {static_cast<int>(e), future_category()};
}

class future_error : public std::logic_error {
 public:
  explicit future_error(future_errc code);
  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }

 private:
  std::error_code code_;
};

namespace detail {
[[noreturn]] void throw_future_error(future_errc code);
}

}  // namespace plx

template <>
struct std::is_error_code_enum<plx::future_errc> : std::true_type {};

namespace plx::detail {

struct wait_reason;

struct continuation {
  continuation* next = nullptr;
  void (*fire)(continuation*) = nullptr;  // must not wait; it may destroy the continuation
};

class future_state_base {
 public:
  using destroy_function = void (*)(future_state_base*) noexcept;

  explicit future_state_base(destroy_function destroy, std::uint32_t refs) noexcept : refs_(refs), destroy_(destroy) {}
  future_state_base(const future_state_base&) = delete;
  future_state_base& operator=(const future_state_base&) = delete;
  ~future_state_base() {
    if (made_by_ != nullptr) [[unlikely]]
      free_origin(made_by_);
  }

  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // acquire, if alone: pairs with the release of the other holders. No other thread can then add a reference.
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy_(this);
  }

  [[nodiscard]] bool ready() const noexcept { return word_.load(std::memory_order_acquire) == ready_word; }
  void wait() {
    if (!ready())
      wait_slowly();
    else if (made_by_ != nullptr) [[unlikely]]
      note_read(*made_by_);
  }
  /// wait(), for the only reader of the result.
  void wait_and_take() {
    if (!ready())
      wait_slowly();
    else if (made_by_ != nullptr) [[unlikely]]
      note_taken(made_by_);
  }
  /// False if the limit passed first.
  bool wait_until(time_limit limit) {
    return wait_within(limit, [this](ticks deadline) { return wait_until(deadline); });
  }

  /// Calls c.fire() when the result is available; immediately, in the caller, if it already is.
  void attach(continuation& c) {
    if (!attach_unless_ready(c)) fire_now(c);
  }
  /// As above, but returns false without calling fire() if the result is already available.
  [[nodiscard]] bool attach_unless_ready(continuation& c) {
    if (deferred()) submit_deferred();  // it may never be waited for, so it becomes an ordinary task
    return try_attach(c);
  }
  bool try_attach(continuation& c) noexcept;
  /// Detaches `c`. False if it has fired or is about to, or if another call of try_detach() holds it: then it stays
  /// attached.
  bool try_detach(continuation& c) noexcept;

  /// Called after the result was written: fires all attached continuations.
  /// `at_end`: the running task does nothing afterwards.
  void complete(bool at_end = false) noexcept;
  void complete_with(std::exception_ptr e) noexcept {
    error_ = std::move(e);
    complete();
  }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

  [[nodiscard]] bool deferred() const noexcept { return deferred_.load(std::memory_order_relaxed); }

 protected:
  static constexpr std::uintptr_t ready_word = 1;

  /// One of several inputs is ready. Called before the last input can complete this state. See origin.hpp.
  void input_came() noexcept {
    if (origins_wanted()) [[unlikely]]
      note_input(made_by_, false);
  }

  /// The task that will complete this state, if a waiter may run it inline.
  task* own_task_ = nullptr;
  std::atomic<bool> deferred_{false};  // own_task_ is not submitted: the first waiter runs it

 private:
  void fire_now(continuation& c) noexcept;
  void wait_slowly();
  bool wait_until(ticks deadline);  // on the scheduler's clock
  wait_reason why(bool timed) const noexcept;
  bool run_own_task_inline();
  void submit_deferred();
  void put_back(continuation* first) noexcept;

  std::atomic<std::uintptr_t> word_{0};
  std::atomic<std::uint32_t> refs_;
  destroy_function destroy_;
  std::exception_ptr error_;
  origin* made_by_ = nullptr;  // set only while dependencies are recorded
};
static_assert(sizeof(future_state_base) <= 64);

/// Completes a state at the end of the running task.
class result_at_task_end {
 public:
  explicit result_at_task_end(future_state_base& s);
  result_at_task_end(const result_at_task_end&) = delete;
  result_at_task_end& operator=(const result_at_task_end&) = delete;
  ~result_at_task_end();  // without a call of arrange(), it does nothing
  /// The result is `error` or, if that is null, the value that the state holds.
  void arrange(std::exception_ptr error) noexcept;

 private:
  struct action : at_task_end {
    future_state_base* state = nullptr;
    std::exception_ptr error;
  };
  action* action_;
};

template <class T>
struct stored {
  static_assert(!std::is_array_v<T> && !std::is_function_v<T>, "a future's result cannot be an array or a function");
  static_assert(std::is_destructible_v<T>, "a future's result must have a public destructor");
  using type = std::remove_cv_t<T>;  // written once; get() adds the qualifiers again
};
template <>
struct stored<void> {
  struct type {};
};
template <class T>
struct stored<T&> {
  using type = T*;
};

template <class T>
class future_state : public future_state_base {
 public:
  using value_type = typename stored<T>::type;

  // User-provided: the union member must not be initialized.
  future_state(destroy_function d, std::uint32_t refs) noexcept : future_state_base(d, refs) {}
  ~future_state() {
    if (has_value_) value_.~value_type();
  }

  template <class... A>
  void emplace(A&&... a) {
    ::new (static_cast<void*>(__builtin_addressof(value_))) value_type(std::forward<A>(a)...);
    has_value_ = true;
  }
  value_type& value() noexcept { return value_; }

  /// Runs `f` and stores what it returns or throws; does not complete the state.
  template <class F>
  [[nodiscard]] std::exception_ptr emplace_result_of(F&& f) noexcept {
    try {
      if constexpr (std::is_void_v<T>) {
        std::forward<F>(f)();
        emplace();
      } else if constexpr (std::is_reference_v<T>) {
        T result = std::forward<F>(f)();
        emplace(__builtin_addressof(result));
      } else {
        emplace(std::forward<F>(f)());
      }
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  template <class F>
  void complete_with_result_of(F&& f, bool at_end = false) noexcept {
    const task_frame frame;
    auto e = emplace_result_of(std::forward<F>(f));
    frame.end();
    if (e)
      this->complete_with(std::move(e));
    else
      this->complete(at_end);
  }

 private:
  bool has_value_ = false;
  union {
    value_type value_;
  };
};

/// Allocates and frees states of type S from the pool.
template <class S, class... A>
S* make_state(A&&... a) {
  return pool_new<S>(std::forward<A>(a)...);
}

template <class S>
void destroy_state(future_state_base* base) noexcept {
  S* s = static_cast<S*>(base);
  s->~S();
  pool_put(s, sizeof(S));
}

template <class T>
class state_ref : public counted_ptr<future_state<T>> {
 public:
  using counted_ptr<future_state<T>>::counted_ptr;
  future_state<T>& checked() const {
    if (!*this) throw_future_error(future_errc::no_state);
    return *this->get();
  }
};

/// Submits a task to the scheduler of the calling thread.
void submit_task(task* t);
/// submit_child() also wakes a sleeping worker; offer_task(), for half of a loop, makes thieves take it as early as
/// possible.
void submit_child(task* t);
void offer_task(task* t);
/// The calling worker runs `t` next; the calling task resumes when a worker is free. On an external thread the same as
/// submit_task().
void fork_task(task* t);

}  // namespace plx::detail
