// How tasks and foreign threads wait in one queue: the part that all synchronization types share.
//
// A primitive owns a spinlock and a wait_list that the lock guards. Who must wait puts a waiter from its own frame into
// the list under the lock and calls wait_on(); the lock is released only after the waiter's stack has been left, so
// nobody can resume it too early. Who wakes takes waiters out under the lock and notifies them after it.
// Thread safety: as said. Cost: two switches and two uncontended locks per wait. Read sync_test.cpp as an example.
#pragma once

#include "base/clock.hpp"
#include "rt/core/fiber.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/sync/deadline.hpp"

namespace plx::detail {

class parker;

/// A text that lives as long as the process: what waiting is told as.
struct told_as {
  const char* text;
};

struct waiter {
  waiter* next = nullptr;
  waiter* previous = nullptr;
  fiber* task = nullptr;     // set when a task waits
  parker* thread = nullptr;  // set when a foreign thread waits
  bool listed = false;
  bool timed_out = false;

  /// Makes it go on. The waiter may be gone when this returns. Requires: not listed any more.
  void notify();
};

class wait_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push(waiter& w) noexcept;
  void remove(waiter& w) noexcept;
  waiter* pop() noexcept;  // the one that waits longest, or null
  /// Takes all, in order, linked by `next`.
  waiter* take_all() noexcept;

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
};

void notify_all(waiter* first);

/// Waits until somebody takes the caller out of `list` and notifies it. Requires: `guard` held; it is released. Throws
/// std::bad_alloc, with `guard` released and the caller in no list, when there is no memory for a stack to go on with.
void wait_on(wait_list& list, spinlock& guard, const wait_reason& what);
void wait_on(wait_list& list, spinlock& guard, const char* what, const void* object, probe::name_id name = 0);
/// As above, at most until `deadline` on the scheduler's clock. False when it passed.
bool wait_on_until(wait_list& list, spinlock& guard, const wait_reason& what, ticks deadline);

/// Throws std::bad_alloc when the calling task could not wait now: for a caller that changes something before it waits.
void require_stack_to_wait();

void sleep_until_ticks(ticks deadline);
void sleep_until(time_limit limit);

}  // namespace plx::detail
