// What waits for a place in a stream: a future, a batch, memory. One record each, in the queue of its stream.
//
// The poller takes a record out of the queue when its place is reached, and finish() is called by an ordinary task
// soon after, never by the poller: continuations do not run inside the poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "gpu/backend.hpp"
#include "gpu/device.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/future/future_state.hpp"
#include "rt/measure/origin.hpp"

namespace plx::gpu::detail {

/// The way from a callback to the runtime's pollers. Callbacks of a device that was left may come when both are gone.
class poller_door {
 public:
  explicit poller_door(runtime& r) noexcept : rt_(&r) {}
  void ask();
  /// From now on nobody is asked.
  void close() {
    const std::lock_guard guard(lock_);
    rt_ = nullptr;
  }

 private:
  std::mutex lock_;
  runtime* rt_;
};

/// What a stream's thread and the poller share of a callback: either may be the last to need it.
struct callback_note {
  std::atomic<int> refs{2};
  std::atomic<bool> called{false};
  std::shared_ptr<poller_door> door;
  void drop() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

struct completion {
  /// Called once, when the place is reached or never will be; `this` may be gone when it returns.
  void (*finish)(completion& self) noexcept = nullptr;
  /// Called by the poll, before: for what the device gets back. May be null. Not called when add() fails.
  void (*retire)(completion& self) noexcept = nullptr;
  completion* next = nullptr;
  std::exception_ptr failed;     // set before finish()
  native_event event = nullptr;  // way poll, and where kernels fail alone
  std::uint32_t flag = 0;        // way flag: the value that the stream writes
  completion_way way = completion_way::poll;
  callback_note* note = nullptr;         // way callback
  const any_operation* after = nullptr;  // the last operation before this place
  ticks submitted = 0;

  // For timelines: how many of the stream's operations stand before this place, and the last of them, as edges call it,
  // and its tag, if it has one; the longest path through it.
  std::uint64_t operations = 0;
  probe::task_id operation = 0;
  std::uint64_t tag = 0;
  ticks path = 0;
  /// Called once it is launched by launch_for(), with what edges call it. May be null.
  void (*launched)(completion& self, probe::task_id operation) noexcept = nullptr;
};

/// Records on their way from the poller to the task that finishes them. Shared with those tasks, which may run when
/// the device is gone.
class finisher {
 public:
  void add(completion* first, completion* last) noexcept {
    const plx::detail::spin_guard guard(lock_);
    (last_ != nullptr ? last_->next : first_) = first;
    last_ = last;
  }
  /// Finishes all that is there, one after the other. A continuation may wait for what is still in the list, so who
  /// begins with more than one record has `again()`, which has another task call run(): while records are in the list
  /// a task is on its way to them.
  template <class F>
  void run(F&& again) noexcept {
    bool more = false;
    completion* c = take(more);
    if (c != nullptr && more) again();
    while (c != nullptr) {
      finish_one(*c);
      {
        const plx::detail::spin_guard guard(lock_);
        --running_;
      }
      c = take(more);
    }
  }
  /// Nothing is there, and nobody finishes anything now.
  [[nodiscard]] bool quiet() noexcept {
    const plx::detail::spin_guard guard(lock_);
    return first_ == nullptr && running_ == 0;
  }

 private:
  /// What it makes ready comes from the operation before it, if timelines are recorded.
  static void finish_one(completion& c) noexcept {
    if (c.operation == 0) [[likely]]
      return c.finish(c);
    plx::detail::origin of_operation;
    of_operation.id = c.operation;
    of_operation.path.store(c.path, std::memory_order_relaxed);
    const plx::detail::made_ready_by by(&of_operation);
    c.finish(c);
  }
  completion* take(bool& more) noexcept {
    const plx::detail::spin_guard guard(lock_);
    completion* const c = first_;
    if (c == nullptr) return nullptr;
    first_ = std::exchange(c->next, nullptr);
    if (first_ == nullptr) last_ = nullptr;
    more = first_ != nullptr;
    ++running_;
    return c;
  }

  plx::detail::spinlock lock_;
  completion *first_ = nullptr, *last_ = nullptr;
  unsigned running_ = 0;
};

/// A future and its record in one allocation.
struct future_completion final : plx::detail::future_state<void>, completion {
  future_completion() noexcept : future_state<void>(plx::detail::destroy_state<future_completion>, 2) {
    finish = [](completion& self) noexcept {
      auto& me = static_cast<future_completion&>(self);
      if (me.failed != nullptr) {
        me.complete_with(std::move(me.failed));
      } else {
        me.emplace();
        me.complete();
      }
      me.release();
    };
  }
};

}  // namespace plx::gpu::detail
