// when_each: a call for each of many futures as they become ready.
//
// Thread safety: everything. Cost: one allocation for the state, a short spinlock per input, and a task whenever inputs
// become ready while none is at work. Example: when_more_test.cpp.
#pragma once

#include "rt/async.hpp"
#include "rt/detail/future_sequence.hpp"
#include "rt/detail/spinlock.hpp"

namespace plx {
namespace detail {

/// Inputs that are ready queue up; one task at a time calls `f` for them.
/// Invariant: while `calling_`, the task is submitted or runs; who sets it submits. Each input holds a reference until
/// its call has been made.
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
      // Others take the inputs away while this loop runs, each only after it was attached.
      for_each_future(inputs_,
                      [this](auto& f, std::size_t i) { attach_input(*this, nodes_[i], i, state_of(f).checked()); });
    }
    this->release();
  }
  void ready(input_node<each_state>& n) {
    bool submit = false;
    {
      spin_guard guard(guard_);
      n.next = nullptr;  // the link in its future's list, which is no longer needed
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
  bool failed_ = false;      // this and missing_: the calling task's
  std::size_t missing_ = 0;  // calls to make
};

template <class F, class Sequence>
future<void> each_of(F&& f, Sequence s) {
  return start_state<each_state<Sequence, std::decay_t<F>>, void>(std::move(s), named({}, f), std::forward<F>(f));
}

}  // namespace detail

/// Calls `f(future)` or `f(index, future)` once for each input when it is ready, in a task, never two calls at a time.
/// The result is ready after the last call. An exception out of `f` goes to the result at once; no more calls are made.
/// Futures are moved in, shared futures copied. Inputs without a state: future_error(no_state).
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
