// A completion: a record for a future, a batch or memory that waits for a point in a stream. Each stream has a queue of
// them.
//
// The poller removes a record from the queue when the stream has reached its point. finish() is then called by an
// ordinary task, never by the poller: continuations do not run inside the poll.
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

/// Connects callbacks to the runtime's pollers. Callbacks of an abandoned device may arrive after device and runtime
/// are gone.
class poller_door {
 public:
  explicit poller_door(runtime& r) noexcept : rt_(&r) {}
  void ask();
  /// From now on ask() does nothing.
  void close() {
    const std::lock_guard guard(lock_);
    rt_ = nullptr;
  }

 private:
  std::mutex lock_;
  runtime* rt_;
};

/// State shared by the stream's thread and the poller for one callback; the last of the two to release it deletes it.
struct callback_note {
  std::atomic<int> refs{2};
  std::atomic<bool> called{false};
  std::shared_ptr<poller_door> door;
  void drop() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

struct completion {
  /// Called once, when the point is reached or never will be; may destroy `this`.
  void (*finish)(completion& self) noexcept = nullptr;
  /// Called by the poller before finish(), to return resources to the device. May be null. Not called if add() fails.
  void (*retire)(completion& self) noexcept = nullptr;
  completion* next = nullptr;
  std::exception_ptr failed;     // set before finish()
  native_event event = nullptr;  // way poll, and if kernels_fail_alone
  std::uint32_t flag = 0;        // way flag: the value that the stream writes
  completion_way way = completion_way::poll;
  callback_note* note = nullptr;         // way callback
  const any_operation* after = nullptr;  // the last operation before this point
  ticks submitted = 0;

  // For timelines: the number of the stream's operations before this point; the last of them, by its id in edges and
  // its tag, if any; and the longest path through it.
  std::uint64_t operations = 0;
  probe::task_id operation = 0;
  std::uint64_t tag = 0;
  ticks path = 0;
  /// Called after a launch by launch_for(), with the id of the operation in edges. May be null.
  void (*launched)(completion& self, probe::task_id operation) noexcept = nullptr;
};

/// Records passed from the poller to the task that finishes them. Shared with these tasks, which may run after the
/// device is gone.
class finisher {
 public:
  void add(completion* first, completion* last) noexcept {
    const plx::detail::spin_guard guard(lock_);
    (last_ != nullptr ? last_->next : first_) = first;
    last_ = last;
  }
  /// Finishes all records in the list, one after another. A continuation may wait for a later record in the list, so if
  /// there is more than one, `again()` first submits another task that calls run(): a task is pending as long as there
  /// are records in the list.
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
  /// True if the list is empty and no thread is finishing a record.
  [[nodiscard]] bool quiet() noexcept {
    const plx::detail::spin_guard guard(lock_);
    return first_ == nullptr && running_ == 0;
  }

 private:
  /// If timelines are recorded, tasks made ready here have the operation as their origin.
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

/// A future and its completion record in one allocation.
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
