// How tasks and external threads wait in one queue: the common part of all synchronization types.
//
// A primitive owns a spinlock and a wait_list guarded by it. A caller that must wait puts a waiter from its own frame
// into the list under the lock and calls wait_on(); the lock is released only after the switch to another stack, so the
// waiter cannot be resumed too early. The waking thread removes waiters under the lock and notifies them after it.
// Thread safety: as described. Cost: two switches and two uncontended locks per wait. Example: sync_test.cpp.
#pragma once

#include "base/clock.hpp"
#include "probe/record/names.hpp"
#include "probe/record/wanted.hpp"
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

/// How long the waiters of a lock wait for the task that holds it, for which this task is blamed: from the later of the
/// waiter's arrival and the holder's, to the release. Guarded by the lock's own spinlock.
/// Invariant: a waiter in the list is in `n_`, and in `begins_` the moment from which it waits for the present holder.
class waits_for_holder {
 public:
  /// A waiter is about to be added to the list.
  void arrives() noexcept {
    begins_ += now_ticks();
    ++n_;
  }
  /// The lock was free and is held again: the time between counts for no holder.
  void taken() noexcept {
    if (n_ != 0) begins_ = n_ * now_ticks();
  }
  /// A waiter has left the list by itself: nothing is known of its arrival, so that it counts as a mean one.
  void gives_up() noexcept;
  /// The calling task does not hold the lock any more, and has removed `admitted` waiters from the list; `none_left`:
  /// it is empty. Blames it, if it is a task, for the time since the last call.
  void released(unsigned admitted, bool none_left) noexcept {
    if (n_ != 0) [[unlikely]]
      blame_caller(admitted, none_left);
  }

 private:
  void blame_caller(unsigned admitted, bool none_left) noexcept;

  ticks begins_ = 0;  // summed over the waiters, modulo 2^64
  std::uint32_t n_ = 0;
};

/// While dependencies are recorded: since when a task holds a lock, for the trace. Guarded by that lock.
/// Cost: a load and a branch when it is taken, and when it is released.
class lock_span {
 public:
  /// The caller holds the lock, after that many waits for it.
  void taken(unsigned waits = 0) noexcept {
    if (probe::wanted.load(std::memory_order_relaxed) % probe::wants_events != 0) [[unlikely]]
      begin(waits);
  }
  /// The caller is about to release the lock.
  void released(const void* lock, probe::name_id name) noexcept {
    if (since_ != 0) [[unlikely]]
      end(lock, name);
  }

 private:
  void begin(unsigned waits) noexcept;
  void end(const void* lock, probe::name_id name) noexcept;

  ticks since_ = 0;  // 0: not recorded
  unsigned waits_ = 0;
};

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
