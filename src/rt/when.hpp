// One future for many, and waiting for many: when_all, when_any, when_some, when_each, wait_*.
//
// Thread safety: everything. Cost: one allocation for the state; one atomic operation per input, for when_some a short
// spinlock. Example: when_test.cpp, when_more_test.cpp.
#pragma once

#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "rt/async.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/sync/wait.hpp"
#include "rt/when_all.hpp"  // IWYU pragma: export

namespace plx {

// wait_all, wait_any, wait_some, wait_each: wait for many futures, which keep their states.
//
// None of them rethrows exceptions held by the futures: get() does. Thread safety: as for the futures; the caller is a
// task or an external thread. Cost: wait_all only the waiting; the others one allocation and a node per future.
// Example: when_more_test.cpp.

namespace detail {

/// The order in which futures become ready. It shares ownership of the states, so the futures may be destroyed first.
class ready_order {
 public:
  /// Attaches to all states; the caller keeps its references.
  explicit ready_order(const std::vector<future_state_base*>& states);
  /// Detaches from the states that are not ready.
  ~ready_order();
  ready_order(const ready_order&) = delete;
  ready_order& operator=(const ready_order&) = delete;

  /// Waits until `n` are ready. Requires: n is at most the number of states.
  void wait_for(std::size_t n);
  /// The index of the i-th that became ready. Requires: wait_for(i + 1) has returned.
  std::size_t operator[](std::size_t i) const;

 private:
  struct shared;
  shared* shared_;
};

template <class Future>
future_state_base* base_of(Future& f) {
  return &state_of(const_cast<std::remove_const_t<Future>&>(f)).checked();
}
template <class... F>
std::vector<future_state_base*> bases_of(F&... futures) {
  return {base_of(futures)...};
}
template <class It>
std::vector<future_state_base*> bases_of_range(It first, It last) {
  std::vector<future_state_base*> all;
  for (; first != last; ++first) all.push_back(base_of(*first));
  return all;
}
std::size_t wait_any_of(const std::vector<future_state_base*>& states);
std::vector<std::size_t> wait_some_of(std::size_t n, const std::vector<future_state_base*>& states);

template <class Call>
void wait_each_of(const std::vector<future_state_base*>& states, Call call) {
  ready_order order(states);
  for (std::size_t i = 0; i < states.size(); ++i) {
    order.wait_for(i + 1);
    call(order[i]);
  }
}

template <class F, class Future>
void call_each(F& f, std::size_t index, Future& future) {
  if constexpr (std::is_invocable_v<F&, std::size_t, Future&>)
    f(index, future);
  else
    f(future);
}

template <class R>
concept future_range = requires(R& r) {
  r.begin();
  r.end();
  requires is_future<std::remove_cvref_t<decltype(*r.begin())>>;
};

}  // namespace detail

/// Returns when all futures are ready. Errors, here and below: future_error(no_state) for futures without a state.
template <class... F>
requires(detail::is_future<F>&&...) void wait_all(const F&... futures) { (futures.wait(), ...); }
template <class It>
requires(!detail::is_future<It>) void wait_all(It first, It last) {
  for (; first != last; ++first) first->wait();
}
template <class It>
void wait_all_n(It first, std::size_t n) {
  for (; n != 0; --n, ++first) first->wait();
}
template <detail::future_range Range>
void wait_all(const Range& futures) {
  wait_all(futures.begin(), futures.end());
}

/// Returns the index of a ready future, as soon as there is one. Without futures, returns size_t(-1) immediately.
template <class... F>
requires(detail::is_future<F>&&...) std::size_t wait_any(const F&... futures) {
  return detail::wait_any_of(detail::bases_of(futures...));
}
template <class It>
requires(!detail::is_future<It>) std::size_t wait_any(It first, It last) {
  return detail::wait_any_of(detail::bases_of_range(first, last));
}
template <class It>
std::size_t wait_any_n(It first, std::size_t n) {
  return wait_any(first, std::next(first, static_cast<std::ptrdiff_t>(n)));
}
template <detail::future_range Range>
std::size_t wait_any(const Range& futures) {
  return wait_any(futures.begin(), futures.end());
}

/// Returns when `n` futures are ready: their indices, in the order in which they became ready. Errors:
/// std::invalid_argument if n is more than the number of futures.
template <class... F>
requires(detail::is_future<F>&&...) std::vector<std::size_t> wait_some(std::size_t n, const F&... futures) {
  return detail::wait_some_of(n, detail::bases_of(futures...));
}
template <class It>
requires(!detail::is_future<It>) std::vector<std::size_t> wait_some(std::size_t n, It first, It last) {
  return detail::wait_some_of(n, detail::bases_of_range(first, last));
}
template <class It>
std::vector<std::size_t> wait_some_n(std::size_t n, It first, std::size_t count) {
  return wait_some(n, first, std::next(first, static_cast<std::ptrdiff_t>(count)));
}
template <detail::future_range Range>
std::vector<std::size_t> wait_some(std::size_t n, const Range& futures) {
  return wait_some(n, futures.begin(), futures.end());
}

/// Calls `f(future)` or `f(index, future)`, in the caller, for each future as it becomes ready; `f` may move its value
/// out. An exception thrown by `f` ends the loop.
template <class F, class Range>
requires detail::future_range<std::remove_reference_t<Range>>
void wait_each(F&& f, Range&& futures) {
  detail::wait_each_of(detail::bases_of_range(futures.begin(), futures.end()), [&](std::size_t i) {
    detail::call_each(f, i, *std::next(futures.begin(), static_cast<std::ptrdiff_t>(i)));
  });
}
template <class F, class... Future>
requires(detail::is_future<std::remove_cvref_t<Future>>&&...) void wait_each(F&& f, Future&&... futures) {
  detail::wait_each_of(detail::bases_of(futures...), [&](std::size_t index) {
    std::size_t i = 0;
    ((i++ == index ? detail::call_each(f, index, futures) : void()), ...);
  });
}
template <class F, class It>
requires(!detail::is_future<It> && std::input_iterator<It>) void wait_each(F&& f, It first, It last) {
  detail::wait_each_of(detail::bases_of_range(first, last), [&](std::size_t i) {
    detail::call_each(f, i, *std::next(first, static_cast<std::ptrdiff_t>(i)));
  });
}
template <class F, class It>
void wait_each_n(F&& f, It first, std::size_t n) {
  wait_each(std::forward<F>(f), first, std::next(first, static_cast<std::ptrdiff_t>(n)));
}

/// The index of the first ready input, and all inputs.
template <class Sequence>
struct when_any_result {
  std::size_t index = static_cast<std::size_t>(-1);
  Sequence futures;
};

/// The indices of the ready inputs, in the order in which they became ready, and all inputs.
template <class Sequence>
struct when_some_result {
  std::vector<std::size_t> indices;  // in the order in which they became ready
  Sequence futures;
};

namespace detail {

/// The first ready input determines the result. It is delivered once the creator has attached to all inputs, because
/// the inputs are then moved into the result.
template <class Sequence>
class any_state final : public future_state<when_any_result<Sequence>> {
 public:
  explicit any_state(Sequence s)
      : future_state<when_any_result<Sequence>>(destroy_state<any_state>, static_cast<std::uint32_t>(count_of(s)) + 2),
        inputs_(std::move(s)),
        nodes_(storage::make(inputs_)) {}
  void start() {
    for_each_future(inputs_,
                    [this](auto& f, std::size_t i) { attach_input(*this, nodes_[i], i, state_of(f).checked()); });
    if (count_of(inputs_) == 0) pending_.store(1, std::memory_order_relaxed);  // no input will ever become ready
    arrive();
    this->release();
  }
  void ready(input_node<any_state>& n) {
    std::size_t expected = none;
    if (winner_.compare_exchange_strong(expected, n.index, std::memory_order_acq_rel)) arrive();
    this->release();  // the input's reference to this state, whose node it used
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  void arrive() {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    this->emplace(when_any_result<Sequence>{winner_.load(std::memory_order_relaxed), std::move(inputs_)});
    this->complete();
  }

  using storage = node_storage<Sequence, input_node<any_state>>;
  Sequence inputs_;
  typename storage::type nodes_;
  std::atomic<std::size_t> winner_{none};
  std::atomic<int> pending_{2};  // the first ready input and the creator
};

/// As any_state, for the first n ready inputs.
template <class Sequence>
class some_state final : public future_state<when_some_result<Sequence>> {
 public:
  some_state(Sequence s, std::size_t n)
      : future_state<when_some_result<Sequence>>(destroy_state<some_state>,
                                                 static_cast<std::uint32_t>(count_of(s)) + 2),
        inputs_(std::move(s)),
        nodes_(storage::make(inputs_)),
        n_(n) {
    winners_.reserve(n);  // so that an input that becomes ready does not allocate
  }
  void start() {
    for_each_future(inputs_,
                    [this](auto& f, std::size_t i) { attach_input(*this, nodes_[i], i, state_of(f).checked()); });
    if (n_ == 0) pending_.store(1, std::memory_order_relaxed);
    arrive();
    this->release();
  }
  void ready(input_node<some_state>& n) {
    bool last = false;
    {
      spin_guard guard(guard_);
      if (winners_.size() < n_) {
        winners_.push_back(n.index);
        last = winners_.size() == n_;
      }
    }
    if (last) arrive();
    this->release();  // as in any_state
  }

 private:
  void arrive() {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::vector<std::size_t> winners;
    {
      // A late input may still read the list; it adds nothing once winners_ has n_ entries.
      spin_guard guard(guard_);
      winners = winners_;
    }
    this->emplace(when_some_result<Sequence>{std::move(winners), std::move(inputs_)});
    this->complete();
  }

  using storage = node_storage<Sequence, input_node<some_state>>;
  Sequence inputs_;
  typename storage::type nodes_;
  const std::size_t n_;
  spinlock guard_;
  std::vector<std::size_t> winners_;
  std::atomic<int> pending_{2};  // the n-th ready input and the creator
};

template <class Sequence>
future<when_any_result<Sequence>> any_of(Sequence s) {
  return start_state<any_state<Sequence>, when_any_result<Sequence>>(std::move(s));
}
template <class Sequence>
future<when_some_result<Sequence>> some_of(std::size_t n, Sequence s) {
  if (n > count_of(s)) throw std::invalid_argument("when_some: n is more than the number of futures");
  return start_state<some_state<Sequence>, when_some_result<Sequence>>(std::move(s), n);
}

}  // namespace detail

/// Ready when one input is ready; holds its index and all inputs. Without inputs the index is size_t(-1). Futures are
/// moved in, shared futures copied. Errors: future_error(no_state) for an input without a state.
template <class... F>
requires(detail::is_future<std::decay_t<F>>&&...) future<when_any_result<std::tuple<std::decay_t<F>...>>> when_any(
    F&&... futures) {
  return detail::any_of(std::tuple<std::decay_t<F>...>(std::forward<F>(futures)...));
}
template <class Sequence>
requires detail::is_future_sequence<Sequence> future<when_any_result<Sequence>> when_any(Sequence futures) {
  return detail::any_of(std::move(futures));
}
template <std::input_iterator It>
future<when_any_result<detail::futures_of<It>>> when_any(It first, It last) {
  return detail::any_of(detail::gather(first, last));
}
template <std::input_iterator It>
future<when_any_result<detail::futures_of<It>>> when_any_n(It first, std::size_t n) {
  return detail::any_of(detail::gather_n(first, n));
}

/// Ready when n inputs are ready; holds their indices, in the order in which they became ready, and all inputs. Errors:
/// std::invalid_argument if n is more than the number of inputs.
template <class... F>
requires(detail::is_future<std::decay_t<F>>&&...) future<when_some_result<std::tuple<std::decay_t<F>...>>> when_some(
    std::size_t n, F&&... futures) {
  return detail::some_of(n, std::tuple<std::decay_t<F>...>(std::forward<F>(futures)...));
}
template <class Sequence>
requires detail::is_future_sequence<Sequence> future<when_some_result<Sequence>> when_some(std::size_t n,
                                                                                           Sequence futures) {
  return detail::some_of(n, std::move(futures));
}
template <std::input_iterator It>
future<when_some_result<detail::futures_of<It>>> when_some(std::size_t n, It first, It last) {
  return detail::some_of(n, detail::gather(first, last));
}
template <std::input_iterator It>
future<when_some_result<detail::futures_of<It>>> when_some_n(std::size_t n, It first, std::size_t count) {
  return detail::some_of(n, detail::gather_n(first, count));
}

// when_each: calls a function for each of many futures as it becomes ready.
//
// Thread safety: everything. Cost: one allocation for the state, a short spinlock per input, and a task whenever inputs
// become ready while no such task is running. Example: when_more_test.cpp.

namespace detail {

/// Ready inputs are queued; one task at a time calls `f` for them.
/// Invariant: while `calling_` is set, the task is submitted or running; the thread that sets it submits the task. Each
/// input holds a reference until its call has returned.
template <class Sequence, class F>
class each_state final : public future_state<void> {
 public:
  template <class G>
  each_state(Sequence s, task_info info, G&& f)
      : future_state<void>(destroy_state<each_state>, static_cast<std::uint32_t>(count_of(s)) + 2),
        inputs_(std::move(s)),
        nodes_(storage::make(inputs_)),
        f_(std::forward<G>(f)),
        missing_(count_of(inputs_)) {
    task_.run = run;
    task_.owner = this;
    task_.info = info;
  }
  void start() {
    if (missing_ == 0) {
      this->emplace();
      this->complete();
    } else {
      // Other threads move the inputs away while this loop runs, each only after it was attached.
      for_each_future(inputs_,
                      [this](auto& f, std::size_t i) { attach_input(*this, nodes_[i], i, state_of(f).checked()); });
    }
    this->release();
  }
  void ready(input_node<each_state>& n) {
    bool submit = false;
    {
      spin_guard guard(guard_);
      n.next = nullptr;  // its link in the future's list is no longer used
      (last_ != nullptr ? last_->next : first_) = &n;
      last_ = &n;
      submit = !std::exchange(calling_, true);
    }
    if (submit) submit_late(nullptr, &task_);
  }

 private:
  static void run(task* t, run_mode) {
    auto* self = const_cast<each_state*>(static_cast<const each_state*>(t->owner));
    while (continuation* next = self->take()) {
      const std::size_t index = static_cast<input_node<each_state>*>(next)->index;
      self->call(index);
      const bool last = --self->missing_ == 0;
      if (last && !self->failed_) {
        self->emplace();
        self->complete();
      }
      self->release();
      if (last) return;
    }
  }
  continuation* take() noexcept {
    spin_guard guard(guard_);
    continuation* c = first_;
    if (c == nullptr) {
      calling_ = false;
      return nullptr;
    }
    first_ = c->next;
    if (first_ == nullptr) last_ = nullptr;
    return c;
  }
  void call(std::size_t index) noexcept {
    if (failed_) return;
    try {
      if constexpr (requires { inputs_.size(); })
        invoke(index, std::move(inputs_[index]));
      else
        for_each_future(inputs_, [&](auto& f, std::size_t i) {
          if (i == index) invoke(i, std::move(f));
        });
    } catch (...) {
      failed_ = true;
      this->complete_with(std::current_exception());
    }
  }
  template <class Future>
  void invoke(std::size_t i, Future&& f) {
    if constexpr (std::is_invocable_v<F&, std::size_t, Future>)
      f_(i, std::forward<Future>(f));
    else
      f_(std::forward<Future>(f));
  }

  using storage = node_storage<Sequence, input_node<each_state>>;
  Sequence inputs_;
  typename storage::type nodes_;
  F f_;
  task task_;
  spinlock guard_;
  continuation* first_ = nullptr;
  continuation* last_ = nullptr;
  bool calling_ = false;
  bool failed_ = false;      // this and missing_ are accessed by the calling task only
  std::size_t missing_ = 0;  // calls not yet made
};

template <class F, class Sequence>
future<void> each_of(F&& f, Sequence s) {
  return start_state<each_state<Sequence, std::decay_t<F>>, void>(std::move(s), named({}, f), std::forward<F>(f));
}

}  // namespace detail

/// Calls `f(future)` or `f(index, future)` once for each input when it is ready, in a task, one call at a time. The
/// result is ready after the last call. An exception thrown by `f` completes the result immediately; no more calls are
/// made. Futures are moved in, shared futures copied. Errors: future_error(no_state) for an input without a state.
template <class F, class... Future>
requires(detail::is_future<std::decay_t<Future>>&&...) future<void> when_each(F&& f, Future&&... futures) {
  return detail::each_of(std::forward<F>(f), std::tuple<std::decay_t<Future>...>(std::forward<Future>(futures)...));
}
template <class F, class Sequence>
requires detail::is_future_sequence<Sequence> future<void> when_each(F&& f, Sequence futures) {
  return detail::each_of(std::forward<F>(f), std::move(futures));
}
template <class F, std::input_iterator It>
future<void> when_each(F&& f, It first, It last) {
  return detail::each_of(std::forward<F>(f), detail::gather(first, last));
}
template <class F, std::input_iterator It>
future<void> when_each_n(F&& f, It first, std::size_t n) {
  return detail::each_of(std::forward<F>(f), detail::gather_n(first, n));
}

}  // namespace plx
