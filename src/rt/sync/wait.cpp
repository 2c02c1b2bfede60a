#include "rt/sync/wait.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <new>
#include <utility>

#include "probe/record/worker_log.hpp"
#include "rt/core/parker.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::detail {
namespace {

[[gnu::cold]] void refuse(spinlock& guard) {
  guard.unlock();
  throw std::bad_alloc();
}

// Sets the identity of the caller. A task that cannot suspend (see suspend()) must not be put into a list.
[[gnu::always_inline]] inline void identify(waiter& me, spinlock& guard) {
  if (worker* w = this_worker()) {
    if (w->free_fibers == nullptr) [[unlikely]]
      refuse(guard);  // no further attempt to allocate, as the caller holds a spinlock
    me.task = w->current;
  } else {
    me.thread = &this_thread_parker();
  }
}

void release(void* lock) { static_cast<spinlock*>(lock)->unlock(); }

struct timed_waiter : waiter {
  timer alarm;
  spinlock* guard = nullptr;
  wait_list* list = nullptr;
};

// The thread that removes the waiter from the list notifies it: the alarm, if no other thread was first.
void alarm_fires(void* context) {
  timed_waiter& w = *static_cast<timed_waiter*>(context);
  {
    spin_guard guard(*w.guard);
    if (!w.listed) return;
    w.list->remove(w);
    w.timed_out = true;
  }
  w.notify();
}

bool wait_thread_until(waiter& me, wait_list& list, spinlock& guard, ticks deadline) {
  guard.unlock();
  const ticks now = now_ticks();
  const double left_s = deadline > now ? std::min(seconds(deadline - now), 1e9) : 0;
  if (me.thread->wait_for(static_cast<std::int64_t>(left_s * 1e9))) return true;
  guard.lock();
  const bool mine = me.listed;
  if (mine) list.remove(me);
  guard.unlock();
  if (!mine) me.thread->wait();  // removed concurrently: its wakeup is on the way
  return !mine;
}

}  // namespace

void waiter::notify() {
  if (task != nullptr)
    resume(*task);
  else
    thread->wake();
}

void wait_list::push(waiter& w) noexcept {
  w.listed = true;
  w.next = nullptr;
  w.previous = last_;
  (last_ != nullptr ? last_->next : first_) = &w;
  last_ = &w;
}

void wait_list::remove(waiter& w) noexcept {
  (w.previous != nullptr ? w.previous->next : first_) = w.next;
  (w.next != nullptr ? w.next->previous : last_) = w.previous;
  w.listed = false;
}

waiter* wait_list::pop() noexcept {
  waiter* w = first_;
  if (w != nullptr) remove(*w);
  return w;
}

waiter* wait_list::take_all() noexcept {
  for (waiter* w = first_; w != nullptr; w = w->next) w->listed = false;
  last_ = nullptr;
  return std::exchange(first_, nullptr);
}

void notify_all(waiter* first) {
  while (first != nullptr) std::exchange(first, first->next)->notify();
}

void waits_for_holder::gives_up() noexcept {
  if (n_ == 0) return;
  const ticks now = now_ticks();
  const auto waited = static_cast<std::int64_t>(n_ * now - begins_);  // negative if clocks of two sockets differ
  begins_ -= now - (waited > 0 ? static_cast<ticks>(waited) / n_ : 0);
  --n_;
}

void waits_for_holder::blame_caller(unsigned admitted, bool none_left) noexcept {
  const ticks now = now_ticks(), waited = n_ * now - begins_;
  n_ = none_left || n_ < admitted ? 0 : n_ - admitted;  // 0 also if a waiter could not wait after all: see refuse()
  begins_ = n_ * now;
  const bool plausible = static_cast<std::int64_t>(waited) > 0;  // clocks of two sockets may differ
  if (worker* w = this_worker(); w != nullptr && w->in_task && plausible) w->log->held_up(w->info.name, waited);
}

[[gnu::noinline]] void lock_span::begin(unsigned waits) noexcept {
  const worker* w = worker_of_this_thread;
  if (w == nullptr || !w->in_task || w->id == 0) return;
  since_ = now_ticks();
  waits_ = waits;
}

[[gnu::noinline]] void lock_span::end(const void* lock, probe::name_id name) noexcept {
  const ticks since = std::exchange(since_, 0);
  const worker* w = worker_of_this_thread;
  if (w != nullptr && w->in_task && w->id != 0) w->log->lock_held(since, now_ticks(), lock, name, waits_);
}

[[gnu::always_inline]] static inline void wait_in(wait_list& list, spinlock& guard, const wait_reason& what) {
  waiter me;
  identify(me, guard);
  list.push(me);
  if (me.task != nullptr) {
    suspend(what, release, &guard);
  } else {
    guard.unlock();
    me.thread->wait();
  }
}

void wait_on(wait_list& list, spinlock& guard, const wait_reason& what) { wait_in(list, guard, what); }

// The reason is stored in this frame, so that the caller can make a tail call: after a switch of stacks, the processor
// mispredicts each return.
void wait_on(wait_list& list, spinlock& guard, const char* what, const void* object, probe::name_id name) {
  wait_in(list, guard, {what, object, name});
}

bool wait_on_until(wait_list& list, spinlock& guard, const wait_reason& what, ticks deadline) {
  if (deadline == no_deadline) {
    wait_in(list, guard, what);
    return true;
  }
  timed_waiter me;
  identify(me, guard);
  list.push(me);
  if (me.task == nullptr) return wait_thread_until(me, list, guard, deadline);
  me.guard = &guard;
  me.list = &list;
  me.alarm.deadline = deadline;
  me.alarm.fire = alarm_fires;
  me.alarm.context = &me;
  try {
    arm_timer(me.alarm);
  } catch (...) {  // no memory for another timer
    list.remove(me);
    guard.unlock();
    throw;
  }
  wait_reason until = what;
  until.timed = true;
  suspend(until, release, &guard);
  timer_queue::cancel(me.alarm);
  return !me.timed_out;
}

void require_stack_to_wait() {
  if (worker* w = this_worker()) require_stack(*w);
}

void sleep_until(time_limit limit) {
  if (!(limit.left_s() > 0)) return;
  wait_within(limit, [](ticks deadline) {
    sleep_until_ticks(deadline);
    return false;
  });
}

void sleep_until_ticks(ticks deadline) {
  spinlock guard;
  wait_list nobody_else;
  guard.lock();
  wait_on_until(nobody_else, guard, "sleep", deadline);
}

// ----------------------------------------------------------------------------- time limits

namespace {

constexpr double longest_span_s = 1e9;  // 31 years; a later end is waited for in several waits

std::int64_t monotonic_ns() noexcept {
  std::timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

ticks deadline_in(double seconds_from_now) {
  worker* w = this_worker();
  const ticks now = w != nullptr ? w->home.now() : now_ticks();
  if (!(seconds_from_now > 0)) return now;
  const double span_s = std::min(seconds_from_now, longest_span_s);
  return now + (w != nullptr ? w->home.span_of(span_s) : ticks_from(span_s));
}

// Rounded up to whole nanoseconds: a wait is at least as long as its duration.
time_limit::time_limit(double span_s) : deadline_(deadline_in(span_s)), left_s_(span_s > 0 ? span_s : 0) {
  if (left_s_ > 0)
    monotonic_end_ns_ = monotonic_ns() + static_cast<std::int64_t>(std::ceil(std::min(span_s, 4e9) * 1e9));
}

time_limit::time_limit(const void* time_point, seconds_left left)
    : deadline_(0), time_point_(time_point), left_(left), left_s_(left(time_point)) {
  deadline_ = deadline_in(left_s_);
}

bool time_limit::passed() {
  if (!(left_s_ > 0)) return true;
  if (const worker* w = this_worker(); w != nullptr && w->home.deterministic()) return true;
  left_s_ = left_ != nullptr ? left_(time_point_) : 1e-9 * static_cast<double>(monotonic_end_ns_ - monotonic_ns());
  if (!(left_s_ > 0)) return true;
  deadline_ = deadline_in(left_s_);
  return false;
}

}  // namespace plx::detail
