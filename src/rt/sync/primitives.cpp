// The waiting parts of all synchronization types.
#include "base/assert.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/event.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/thread.hpp"

namespace plx {

using detail::spin_guard;
using detail::waiter;

static_assert(probe::max_names <= 1u << 16);

mutex::mutex(std::string_view name) : name_(static_cast<std::uint16_t>(probe::register_name(name))) {}
condition_variable_any::condition_variable_any(std::string_view name)
    : name_(static_cast<std::uint16_t>(probe::register_name(name))) {}

unsigned mutex::lock_slowly() {
  detail::choice_point();
  for (unsigned waits = 0;; ++waits) {
    guard_.lock();
    // A waiter leaves the state `contended`; acquiring the lock this way costs at most one unnecessary check of the
    // list.
    if (state_.exchange(contended, std::memory_order_acquire) == unlocked) {
      waits_.taken();
      guard_.unlock();
      return waits;
    }
    detail::wait_reason why("mutex", this, name_);
    why.holder = holder_of;
    waits_.arrives();
    detail::wait_on(waiters_, guard_, why);
  }
}

std::uintptr_t mutex::holder_of(const void* m) noexcept {
  const auto& self = *static_cast<const mutex*>(m);
  return self.state_.load(std::memory_order_relaxed) == unlocked ? 0 : self.holder_.load(std::memory_order_relaxed);
}

void mutex::unlock_slowly() {
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    w = waiters_.pop();
    waits_.released(1, waiters_.empty());
    state_.store(unlocked, std::memory_order_release);  // pairs with the acquires in lock() and lock_slowly()
  }
  if (w != nullptr) w->notify();
}

void condition_variable_any::notify_one() {
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    w = waiters_.pop();
  }
  if (w != nullptr) w->notify();
  detail::choice_point();
}

void condition_variable_any::notify_all() {
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    w = waiters_.take_all();
  }
  detail::notify_all(w);
  detail::choice_point();
}

void latch::count_down(std::ptrdiff_t n) {
  detail::choice_point();
  // The last count is released under the guard, so that a woken waiter may destroy the latch: waiters take the guard,
  // too, before they return.
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    // acq_rel: a thread that reads zero, here or with acquire in wait() and try_wait(), sees the writes before each
    // count.
    const std::ptrdiff_t before = missing_.fetch_sub(n, std::memory_order_acq_rel);
    PLX_ASSERT(n >= 0 && n <= before, n, before);
    if (before == n) w = waiters_.take_all();
  }
  detail::notify_all(w);
}

void latch::wait() const {
  detail::choice_point();
  guard_.lock();
  if (missing_.load(std::memory_order_acquire) == 0)
    guard_.unlock();
  else
    detail::wait_on(waiters_, guard_, "latch", this);
}

namespace detail {

void semaphore_base::release(std::ptrdiff_t n) {
  choice_point();
  // All units in one critical section: a task that got one may destroy the semaphore.
  waiter* owners = nullptr;
  waiter** last = &owners;
  {
    spin_guard guard(guard_);
    PLX_ASSERT(n >= 0 && n <= most_ - free_ && "release() beyond the max() of the semaphore", n, free_, most_);
    for (; n > 0; --n) {
      waiter* w = waiters_.pop();
      if (w == nullptr) break;
      w->next = nullptr;
      *last = w;
      last = &w->next;
    }
    free_ += n;
  }
  notify_all(owners);
}

bool semaphore_base::try_acquire() noexcept {
  spin_guard guard(guard_);
  if (free_ == 0) return false;
  --free_;
  return true;
}

void semaphore_base::acquire() {
  choice_point();
  guard_.lock();
  if (free_ > 0) {
    --free_;
    guard_.unlock();
  } else {
    wait_on(waiters_, guard_, "semaphore", this);
  }
}

bool semaphore_base::acquire_until(ticks deadline) {
  choice_point();
  guard_.lock();
  if (free_ > 0) {
    --free_;
    guard_.unlock();
    return true;
  }
  return wait_on_until(waiters_, guard_, {"semaphore", this}, deadline);
}

std::size_t barrier_base::arrive(std::ptrdiff_t n, bool drop, complete_function complete) {
  choice_point();
  guard_.lock();
  PLX_ASSERT(n > 0 && n <= missing_, n, missing_);
  const std::size_t phase = phase_;
  missing_ -= n;
  if (drop) --expected_;
  const bool last = missing_ == 0;
  guard_.unlock();
  if (!last) return phase;
  complete(*this);  // outside the lock: it may wait. No other arrival is possible in this phase
  waiter* w = nullptr;
  {
    spin_guard guard(guard_);
    missing_ = expected_;
    ++phase_;
    w = waiters_.take_all();
  }
  notify_all(w);
  return phase;
}

void barrier_base::wait(std::size_t phase) const {
  choice_point();
  guard_.lock();
  if (phase_ != phase)
    guard_.unlock();
  else
    wait_on(waiters_, guard_, "barrier", this);
}

}  // namespace detail

void event::set() {
  detail::choice_point();
  detail::waiter* all = nullptr;
  {
    detail::spin_guard guard(guard_);
    set_.store(true, std::memory_order_release);  // pairs with the acquire in occurred()
    all = waiters_.take_all();
  }
  detail::notify_all(all);
}

void event::wait_slowly() {
  detail::choice_point();
  guard_.lock();
  if (occurred())
    guard_.unlock();
  else
    detail::wait_on(waiters_, guard_, "event", this);
}

bool event::wait_ticks(ticks deadline) {
  detail::choice_point();
  guard_.lock();
  if (occurred()) {
    guard_.unlock();
    return true;
  }
  return detail::wait_on_until(waiters_, guard_, {"event", this}, deadline);
}

bool once_flag::begin() {
  detail::choice_point();
  for (;;) {
    guard_.lock();
    const int state = state_.load(std::memory_order_relaxed);
    if (state == 1) {
      detail::wait_reason why("call_once", this);
      why.holder = holder_of;
      detail::wait_on(waiters_, guard_, why);
      continue;
    }
    if (state == 0) {
      state_.store(1, std::memory_order_relaxed);
      holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
    }
    guard_.unlock();
    return state == 0;
  }
}

std::uintptr_t once_flag::holder_of(const void* flag) noexcept {
  const auto& self = *static_cast<const once_flag*>(flag);
  return self.state_.load(std::memory_order_relaxed) == 1 ? self.holder_.load(std::memory_order_relaxed) : 0;
}

void once_flag::end(bool done) noexcept {
  detail::waiter* all = nullptr;
  {
    detail::spin_guard guard(guard_);
    state_.store(done ? 2 : 0, std::memory_order_release);  // pairs with the acquire in call_once()
    all = waiters_.take_all();
  }
  detail::notify_all(all);
}

}  // namespace plx

namespace plx::detail {
namespace {

// The owner while the chosen waiter has not resumed yet; not the identity of any task or thread.
constexpr char handed_over = 0;

}  // namespace

// Requires: guard_ held.
bool handed_mutex::take(const void* me) noexcept {
  if (owner_ == nullptr) {
    owner_ = me;
    std::atomic_ref(holder_).store(PLX_STACK_HERE(), std::memory_order_relaxed);
    depth_ = 1;
    span_.taken();
    return true;
  }
  if (!recursive_ || owner_ != me) return false;
  ++depth_;
  return true;
}

wait_reason handed_mutex::why() const noexcept {
  wait_reason r("mutex", this);
  r.holder = [](const void* m) noexcept {
    auto& holder = const_cast<std::uintptr_t&>(static_cast<const handed_mutex*>(m)->holder_);
    return std::atomic_ref(holder).load(std::memory_order_relaxed);
  };
  return r;
}

bool handed_mutex::lock_until(ticks deadline) {
  choice_point();
  const void* me = current_task_id();
  guard_.lock();
  if (take(me)) {
    guard_.unlock();
    return true;
  }
  PLX_ASSERT((owner_ != me || deadline != no_deadline) &&
             "a task locked a mutex that it already holds (self-deadlock)");
  waits_.arrives();
  if (!wait_on_until(waiters_, guard_, why(), deadline)) {
    spin_guard guard(guard_);
    waits_.gives_up();
    return false;
  }
  spin_guard guard(guard_);
  waits_.taken();
  owner_ = me;
  std::atomic_ref(holder_).store(PLX_STACK_HERE(), std::memory_order_relaxed);
  span_.taken(1);
  return true;
}

bool handed_mutex::try_lock() noexcept {
  spin_guard guard(guard_);
  return take(current_task_id());
}

void handed_mutex::unlock() {
  waiter* next = nullptr;
  {
    spin_guard guard(guard_);
    PLX_ASSERT(owner_ == current_task_id() && "a mutex was unlocked by a task that does not hold it");
    if (--depth_ > 0) return;
    span_.released(this, probe::unnamed);
    next = waiters_.pop();
    waits_.released(1, waiters_.empty());
    owner_ = next != nullptr ? &handed_over : nullptr;
    std::atomic_ref(holder_).store(0, std::memory_order_relaxed);
    depth_ = next != nullptr ? 1 : 0;
  }
  if (next != nullptr) next->notify();
}

}  // namespace plx::detail

namespace plx {

// Requires: guard_ held, no writer. All waiting readers become owners; their list is returned for notification.
waiter* shared_mutex::admit_readers() noexcept {
  waiter* first = waiting_readers_.take_all();
  for (const waiter* w = first; w != nullptr; w = w->next) ++readers_;
  return first;
}

detail::wait_reason shared_mutex::why(const char* what) const noexcept {
  detail::wait_reason r(what, this);
  r.holder = [](const void* m) noexcept {
    return static_cast<const shared_mutex*>(m)->holder_.load(std::memory_order_relaxed);
  };
  return r;
}

bool shared_mutex::try_lock() noexcept {
  spin_guard guard(guard_);
  if (writer_ || readers_ != 0) return false;
  holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
  return writer_ = true;
}

void shared_mutex::unlock() {
  waiter* next = nullptr;
  {
    spin_guard guard(guard_);
    PLX_ASSERT(writer_ && "unlock() of a shared_mutex that is not locked");
    writer_ = false;
    holder_.store(0, std::memory_order_relaxed);
    next = admit_readers();
    if (next == nullptr) {
      next = waiting_writers_.pop();
      if (next != nullptr) next->next = nullptr;
      writer_ = next != nullptr;
    }
    released(next);
  }
  detail::notify_all(next);
}

// Requires: guard_ held; `admitted` are no longer in the lists.
void shared_mutex::released(const waiter* admitted) noexcept {
  unsigned n = 0;
  for (const waiter* w = admitted; w != nullptr; w = w->next) ++n;
  waits_.released(n, waiting_writers_.empty() && waiting_readers_.empty());
}

bool shared_mutex::try_lock_shared() noexcept {
  spin_guard guard(guard_);
  if (writer_ || !waiting_writers_.empty()) return false;
  ++readers_;
  return true;
}

void shared_mutex::unlock_shared() {
  waiter* next = nullptr;
  {
    spin_guard guard(guard_);
    PLX_ASSERT(readers_ > 0 && "unlock_shared() of a shared_mutex that is not locked", readers_);
    if (--readers_ == 0 && (next = waiting_writers_.pop()) != nullptr) {
      next->next = nullptr;
      writer_ = true;
    }
    if (readers_ == 0) released(next);
  }
  if (next != nullptr) next->notify();
}

bool shared_mutex::lock_until(ticks deadline) {
  detail::choice_point();
  guard_.lock();
  if (!writer_ && readers_ == 0) {
    writer_ = true;
    guard_.unlock();
    holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
    return true;
  }
  waits_.arrives();
  if (detail::wait_on_until(waiting_writers_, guard_, why("shared_mutex, to write"), deadline)) {
    spin_guard guard(guard_);
    waits_.taken();
    holder_.store(PLX_STACK_HERE(), std::memory_order_relaxed);
    return true;
  }
  // Readers that queued behind this writer must no longer wait for it.
  waiter* readers = nullptr;
  {
    spin_guard guard(guard_);
    waits_.gives_up();
    if (!writer_ && waiting_writers_.empty()) readers = admit_readers();
    for (const waiter* w = readers; w != nullptr; w = w->next) waits_.gives_up();
  }
  detail::notify_all(readers);
  return false;
}

bool shared_mutex::lock_shared_until(ticks deadline) {
  detail::choice_point();
  guard_.lock();
  if (!writer_ && waiting_writers_.empty()) {
    ++readers_;
    guard_.unlock();
    return true;
  }
  waits_.arrives();
  const bool admitted = detail::wait_on_until(waiting_readers_, guard_, why("shared_mutex, to read"), deadline);
  spin_guard guard(guard_);
  admitted ? waits_.taken() : waits_.gives_up();
  return admitted;
}

}  // namespace plx
