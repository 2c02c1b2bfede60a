// How tasks and external threads wait in one queue: the common part of all synchronization types.
//
// A primitive owns a spinlock and a wait_list guarded by it. A caller that must wait puts a waiter from its own frame
// into the list under the lock and calls wait_on(); the lock is released only after the switch to another stack, so the
// waiter cannot be resumed too early. The waking thread removes waiters under the lock and notifies them after it.
// Thread safety: as described. Cost: two switches and two uncontended locks per wait. Example: sync_test.cpp.
#pragma once

#include "base/clock.hpp"
#include "rt/core/fiber.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/sync/deadline.hpp"

namespace plx::detail {

class parker;

/// A text with static lifetime: the name under which a wait is reported.
struct wait_name {
  const char* text;
};

struct waiter {
  waiter* next = nullptr;
  waiter* previous = nullptr;
  fiber* task = nullptr;     // set when a task waits
  parker* thread = nullptr;  // set when an external thread waits
  bool listed = false;
  bool timed_out = false;

  /// Resumes the waiter, which may be destroyed when this returns. Requires: it is in no list.
  void notify();
};

class wait_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push(waiter& w) noexcept;
  void remove(waiter& w) noexcept;
  waiter* pop() noexcept;  // the longest waiter, or null
  /// Removes all waiters, in order, linked by `next`.
  waiter* take_all() noexcept;

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

void notify_all(waiter* first);

/// Waits until the caller is removed from `list` and notified. Requires: `guard` is held; it is released. Throws
/// std::bad_alloc, with `guard` released and the caller in no list, if there is no memory for a stack to switch to.
void wait_on(wait_list& list, spinlock& guard, const wait_reason& what);
void wait_on(wait_list& list, spinlock& guard, const char* what, const void* object, probe::name_id name = 0);
inline constexpr ticks no_deadline = ~ticks{0};
/// As above, at most until `deadline` on the scheduler's clock. False if the deadline passed.
bool wait_on_until(wait_list& list, spinlock& guard, const wait_reason& what, ticks deadline);

/// Throws std::bad_alloc if the calling task could not wait now: for a caller that changes state before it waits.
void require_stack_to_wait();

void sleep_until_ticks(ticks deadline);
void sleep_until(time_limit limit);

}  // namespace plx::detail
