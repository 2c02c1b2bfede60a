// Sending messages: when, and what happens afterwards.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "net/parcels/port_parts.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/core/timer_queue.hpp"

namespace plx::net {

using plx::detail::spin_guard;
using plx::detail::this_worker;
using plx::detail::timer_queue;

namespace {

constexpr unsigned most_in_flight = 4;    // messages to one locality; beyond that, parcels are collected
constexpr std::size_t short_bytes = 512;  // up to this size, the cost does not depend on the size

// The memory of a message in flight: for a single small parcel much more than its bytes.
std::uint64_t held_bytes(const frame_message& m) noexcept { return sizeof m + m.capacity; }

// The system wakes a sleeping thread some 40 us late (for 100 us and 1 ms, median; 90 % within 55 us).
ticks rings_early() noexcept {
  static const ticks span = ticks_from(60e-6);
  return span;
}

// By default it adds 50 us to save power, unless the thread requests less; a worker that idles with a timer set does.
void sleep_as_alarms_need(bool any) noexcept {
  const plx::detail::worker* w = this_worker();
  if (any && (w == nullptr || !w->looks_for_work.load(std::memory_order_relaxed))) return;
  plx::detail::sleep_sharply(any);
}

bool any_work(plx::detail::scheduler& s) noexcept {
  if (s.injected() != 0 || s.placed() != 0) return true;
  for (unsigned i = 0; i < s.worker_count(); ++i)
    if (!s.worker_at(i).deque.empty()) return true;
  return false;
}

// Called by an idle worker: spins for at most the time by which a timer fires early. True at `due`, false if there is
// other work; `came`: the transport made progress.
bool wait_until(plx::detail::scheduler& s, transport& t, const std::atomic<bool>& ready, ticks due, bool& came,
                ticks& waited) noexcept {
  plx::detail::worker* const w = this_worker();
  if (s.deterministic() || w == nullptr || !w->looks_for_work.load(std::memory_order_relaxed)) return false;
  const ticks begin = s.now();
  for (ticks now = begin; now < due; now = s.now()) {
    waited = now - begin;
    if (due - now > rings_early() || ready.load(std::memory_order_relaxed) || any_work(s)) return false;
    if (w->poll_clock != 0) w->poll_clock = now;
    if (t.progress()) return came = true, false;
    for (int i = 0; i < 16; ++i) plx::detail::cpu_relax();
  }
  return true;
}

}  // namespace

// Whether the message is sent now that a parcel has been added; the lock of `c` is held. If another parcel of
// `parcel_bytes` does not fit, waiting is useless. A self-clocking one is sent if no message is in flight and `gap`,
// the preceding time without parcels and messages, exceeds the cost of two messages: then it is not one of many.
bool parcel_port::goes(const collector& c, std::size_t parcel_bytes, ticks gap, ticks now) const noexcept {
  if (c.open->used + parcel_bytes > c.bytes || ended_.load(std::memory_order_relaxed)) return true;
  if (c.way == coalescing_way::self_clocking)
    return gap > std::max(lone_after_, 2 * c.to->send_cost.load(std::memory_order_relaxed)) && c.to->in_flight() == 0;
  return c.open->parcels >= c.parcels || gap > c.interval || now >= c.due;
}

// Asked by the poller. If the worker that sent last now polls, it sends no more for the moment; if another worker
// sends, more parcels are expected, and the delay is bounded. The same holds between two tasks of the worker itself, if
// messages are expensive and parcels frequent.
bool parcel_port::need_not_wait(const collector& c, ticks now) const noexcept {
  if (c.to->closed.load(std::memory_order_relaxed)) return true;
  if (c.to->in_flight() >= most_in_flight) return false;
  const ticks cost = c.to->send_cost.load(std::memory_order_relaxed), age = since(c.first, now);
  const plx::detail::worker* w = this_worker();
  if (c.worker != w) return since(c.last, now) > quiet_after_ || age > old_after_;
  const bool more_comes = cost > 2 * quiet_after_ && w != nullptr && !w->deque.empty() &&
                          age / c.open->parcels < cost / 8 && since(c.last, now) < cost;
  return !more_comes || age > 4 * cost;
}

// Asked by an idle worker: whether waiting for the interval costs more than it gains. A worker that sends in a loop is
// still filling the message.
bool parcel_port::need_not_collect(const collector& c, ticks now) const noexcept {
  if (!c.leaves_idle) return false;
  const auto* sender = static_cast<const plx::detail::worker*>(c.worker);
  if (sender == nullptr) return since(c.last, now) > old_after_;  // an external thread
  return sender == this_worker() || sender->looks_for_work.load(std::memory_order_relaxed) ||
         since(c.last, now) > old_after_;
}

// The lock of `c` is held, and `c.open` is not null.
frame_message* parcel_port::take(collector& c) noexcept {
  frame_message* m = std::exchange(c.open, nullptr);
  frame_header h;
  h.parcels = m->parcels;
  std::memcpy(m->bytes.get(), &h, sizeof h);
  m->to = c.to;
  m->head = {m->bytes.get(), m->used};
  c.usual_bytes = std::max(m->used, c.usual_bytes / 8 * 7);
  c.due = timer_queue::never;
  ++c.n_messages;
  c.n_bytes += m->used;
  c.to->under_way.fetch_add(port_peer::one_message + held_bytes(*m), std::memory_order_relaxed);
  return m;
}

// No lock is held: the transport may call `sent` for any message immediately. Work for the message started at `begin`;
// returns its end.
ticks parcel_port::leave(frame_message* m, ticks begin) noexcept {
  m->port = this;
  m->sent = sent;
  return hand_over(m->to->id, *m, begin);
}

// Accounts the time to the poller or, outside of pollers, to sending. In deterministic mode the time that affects
// decisions is zero.
ticks parcel_port::hand_over(locality_id to, outgoing& m, ticks begin) noexcept {
  const bool is_short = m.pieces.empty() && m.head.size() <= short_bytes;
  transport_.send(to, m);  // may destroy m
  const ticks end = now_ticks();
  if (scheduler_.deterministic())
    peers_[to]->note_handed_over(scheduler_.now(), scheduler_.now(), is_short);
  else
    peers_[to]->note_handed_over(begin, end, is_short);
  const plx::detail::worker* w = this_worker();
  if (w != nullptr && w->polling) return end;
  handing_.fetch_add(since(begin, end), std::memory_order_relaxed);
  sendings_.fetch_add(1, std::memory_order_relaxed);
  return end;
}

void parcel_port::sent(outgoing* o, bool) noexcept {
  auto* m = static_cast<frame_message*>(o);
  m->to->note_sent(port_peer::one_message + held_bytes(*m), m->port->most_unsent_.load(std::memory_order_relaxed));
  m->port->store_.put(m);
}

void parcel_port::large_sent(outgoing* o, bool) noexcept {
  auto* m = static_cast<large_message*>(o);
  m->to->not_counted.fetch_sub(m->size_bytes - m->counted_bytes, std::memory_order_relaxed);
  m->to->note_sent(m->counted_bytes, m->port->most_unsent_.load(std::memory_order_relaxed));
  m->destroy(m);
}

// ------------------------------------------------------------------------------------------------------------ flushing

void parcel_port::put_into(std::vector<collector*>& list, collector& c) noexcept {
  spin_guard guard(list_lock_);
  list.push_back(&c);
  if (&list == &ready_) any_ready_.store(true, std::memory_order_relaxed);
}

// Calls f for each collector in the list with its lock held, keeps those for which it returns true, and sends the
// messages it takes. True if any was sent. Requires: flush_lock_ is held.
template <class F>
bool parcel_port::look_at(std::vector<collector*>& list, F f) noexcept {
  {
    spin_guard guard(list_lock_);
    looked_at_.swap(list);
    if (&list == &ready_) any_ready_.store(false, std::memory_order_relaxed);
  }
  bool left = false;
  std::size_t kept = 0;
  for (collector* c : looked_at_) {
    c->lock.lock();
    frame_message* m = nullptr;
    const bool keeps = f(*c, m);
    c->lock.unlock();
    if (keeps) looked_at_[kept++] = c;
    if (m != nullptr) leave(m, now_ticks());
    left |= m != nullptr;
  }
  if (kept != 0) {
    spin_guard guard(list_lock_);
    list.insert(list.end(), looked_at_.begin(), looked_at_.begin() + static_cast<std::ptrdiff_t>(kept));
    if (&list == &ready_) any_ready_.store(true, std::memory_order_relaxed);
  }
  looked_at_.clear();
  return left;
}

bool parcel_port::flush_ready(bool all) noexcept {
  const ticks now = scheduler_.now();
  return look_at(ready_, [&](collector& c, frame_message*& leaves) {
    const bool holds = c.open != nullptr && c.way == coalescing_way::self_clocking;
    if (holds && !all && !need_not_wait(c, now)) return true;
    if (holds) leaves = take(c);
    c.in_ready = false;
    return false;
  });
}

bool parcel_port::flush_timed(bool all) noexcept {
  alarm_rang_.store(false, std::memory_order_seq_cst);
  const ticks now = scheduler_.now();
  ticks next = timer_queue::never;
  const bool left = look_at(timed_, [&](collector& c, frame_message*& leaves) {
    const bool holds = c.open != nullptr && c.way != coalescing_way::self_clocking;
    if (holds && !all && c.due > now) {
      next = std::min(next, c.due);
      return true;
    }
    if (holds) leaves = take(c);
    c.in_timed = false;
    return false;
  });
  set_alarm(next);
  return left;
}

bool parcel_port::flush(ticks& waited) noexcept {
  waited = 0;
  const bool ready = any_ready_.load(std::memory_order_relaxed), rang = alarm_rang_.load(std::memory_order_relaxed);
  sleep_as_alarms_need(alarm_at_.load(std::memory_order_relaxed) != timer_queue::never);
  if ((!ready && !rang) || !flush_lock_.try_lock()) return false;
  bool left = ready && flush_ready(false);
  left |= rang && flush_timed(false);
  flush_lock_.unlock();
  if (!rang || left) return left;
  // It fired early, and was set again to the exact time: an idle worker waits for that.
  const ticks due = alarm_at_.load(std::memory_order_relaxed);
  if (due == timer_queue::never || !wait_until(scheduler_, transport_, any_ready_, due, left, waited) ||
      !flush_lock_.try_lock())
    return left;
  left |= flush_timed(false);
  flush_lock_.unlock();
  return left;
}

bool parcel_port::flush_idle() noexcept {
  if (!any_impatient_.load(std::memory_order_relaxed) || any_work(scheduler_) || !flush_lock_.try_lock()) return false;
  // Cleared before the check: a thread that adds a parcel afterwards sets it again.
  any_impatient_.store(false, std::memory_order_relaxed);
  const ticks now = scheduler_.now();
  bool more = false;
  const bool left = look_at(timed_, [&](collector& c, frame_message*& leaves) {
    if (c.open != nullptr && need_not_collect(c, now)) leaves = take(c);
    c.in_timed = c.open != nullptr;
    more |= c.in_timed && c.leaves_idle;
    return c.in_timed;
  });
  if (more) any_impatient_.store(true, std::memory_order_relaxed);
  flush_lock_.unlock();
  return left;
}

void parcel_port::flush_all() noexcept {
  spin_guard guard(flush_lock_);
  flush_ready(true);
  flush_timed(true);
}

void parcel_port::end() noexcept {
  ended_.store(true, std::memory_order_relaxed);
  flush_all();
  spin_guard guard(alarm_lock_);
  timer_queue::cancel(alarm_);
  alarm_at_.store(0, std::memory_order_relaxed);  // nothing is earlier
}

// ----------------------------------------------------------------------------------------------------------- the timer

// Only records that it fired and requests a poll, which calls flush(). A thread that reads the old value of alarm_at_
// has put its collector into `timed_` before, and the flush that follows processes it.
void parcel_port::ring(void* self) noexcept {
  auto& port = *static_cast<parcel_port*>(self);
  const ticks begin = now_ticks();
  port.alarm_at_.store(timer_queue::never, std::memory_order_seq_cst);
  port.alarm_rang_.store(true, std::memory_order_seq_cst);
  port.scheduler_.ask_pollers();
  port.note_polled(since(begin, now_ticks()));
}

// The timer fires early, so that a sleeping worker is awake in time, and then again at the exact time.
void parcel_port::set_alarm(ticks due) noexcept {
  const ticks early = scheduler_.deterministic() ? 0 : rings_early();
  const bool soon = early != 0 && due <= scheduler_.now() + early;
  if (!soon && due != timer_queue::never) due -= early;
  spin_guard guard(alarm_lock_);
  if (due >= alarm_at_.load(std::memory_order_seq_cst)) return;
  timer_queue::cancel(alarm_);
  alarm_.deadline = due;
  alarm_at_.store(due, std::memory_order_seq_cst);
  if (soon) alarm_rang_.store(true, std::memory_order_seq_cst);  // too late to fire early
  plx::detail::worker* w = this_worker();
  if (w == nullptr || &w->home != &scheduler_) w = &scheduler_.worker_at(0);
  w->timers.arm(alarm_);
  scheduler_.deadline_changed(due);
}

// ------------------------------------------------------------------------------------------------------------ shutdown

void parcel_port::close_peer(locality_id which) noexcept {
  // seq_cst: a thread that adds a reply and then sees false is found by the thread that sets this and then scans the
  // replies.
  peers_[which]->closed.store(true, std::memory_order_seq_cst);
  peers_[which]->wake_all();
}

bool parcel_port::closed(locality_id which) const noexcept {
  return peers_[which]->closed.load(std::memory_order_seq_cst);
}

// --------------------------------------------------------------------------------------------------- reuse of messages

unsigned message_store::size_class(std::size_t bytes) noexcept {
  return static_cast<unsigned>(std::bit_width((std::max(bytes, least_bytes) - 1) / least_bytes));
}

frame_message* message_store::reuse(std::size_t wanted) noexcept {
  const unsigned c = size_class(wanted);
  if (c >= n_sizes) return nullptr;
  spin_guard guard(lock_);
  auto& free = free_[c];
  if (free.empty()) return nullptr;
  frame_message* m = free.back();
  free.pop_back();
  return m;
}

frame_message* message_store::create(std::size_t wanted) {
  const unsigned c = size_class(wanted);
  auto m = std::make_unique<frame_message>();
  m->capacity = c < n_sizes ? least_bytes << c : wanted;
  m->bytes = std::make_unique_for_overwrite<std::byte[]>(m->capacity);
  m->used = sizeof(frame_header);
  return m.release();
}

void message_store::put(frame_message* m) noexcept {
  const unsigned c = size_class(m->capacity);
  if (c < n_sizes && m->capacity == least_bytes << c) {
    m->used = sizeof(frame_header);
    m->parcels = 0;
    spin_guard guard(lock_);
    auto& free = free_[c];
    if (free.size() < most_kept_bytes / m->capacity) return free.push_back(m);
  }
  delete m;
}

void message_store::grow(frame_message& m, std::size_t wanted) {
  const std::size_t capacity = std::bit_ceil(wanted);
  auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
  std::memcpy(larger.get(), m.bytes.get(), m.used);
  m.bytes = std::move(larger);
  m.capacity = capacity;
}

message_store::~message_store() {
  for (auto& free : free_)
    for (frame_message* m : free) delete m;
}

}  // namespace plx::net
