// Adding parcels to messages, and settings. parcel_flush.cpp sends the messages.
#include "net/parcels/parcel_port.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "net/parcels/message_log.hpp"
#include "net/parcels/port_parts.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::net {

using plx::detail::spin_guard;
using plx::detail::this_worker;
using plx::detail::timer_queue;

namespace {

constexpr std::size_t usual_message_bytes = 8192;  // limit of a self-clocking message

// The time before `now` without parcels and, if self-clocking, without handovers: otherwise a slow handover would make
// the next of many parcels look late. The lock of `c` is held.
ticks gap_before(const collector& c, ticks now) {
  if (c.n_parcels == 0) return timer_queue::never;
  const bool self = c.way == coalescing_way::self_clocking;
  const ticks last = self ? std::max(c.last, c.to->handed_over.load(std::memory_order_relaxed)) : c.last;
  return since(last, now);
}

// A parcel of a direct action is executed on arrival, and its sender usually waits for the effect. It is sent
// immediately unless its message already holds other parcels. The lock of `c` is held.
bool is_urgent(const collector& c, std::uint16_t action) {
  if (c.way != coalescing_way::self_clocking || c.open->parcels != 1 || action == 0) return false;
  const action_entry& e = *all_actions()[action];
  return e.direct && !e.control && c.to->in_flight() == 0;
}

/// Adds a number to the parcel whose header was just written; returns the start of its payload.
std::byte* put_number(std::byte* header, std::uint64_t number) noexcept {
  parcel_header h;
  std::memcpy(&h, header, sizeof h);
  h.flags |= numbered;
  h.size += static_cast<std::uint32_t>(number_bytes);
  std::memcpy(header, &h, sizeof h);
  std::memcpy(header + sizeof h, &number, number_bytes);
  return header + sizeof h + number_bytes;
}

std::uint32_t name_of_action(std::uint16_t index) noexcept {
  const auto actions = all_actions();
  return index < actions.size() && actions[index] != nullptr ? actions[index]->name : 0;
}

}  // namespace

parcel_port::parcel_port(plx::detail::scheduler& s, transport& t, locality_id here, unsigned localities)
    : scheduler_(s),
      transport_(t),
      here_(here),
      max_head_bytes_(t.max_head_bytes()),
      lone_after_(s.span_of(0.3e-6)),
      quiet_after_(s.span_of(0.5e-6)),
      old_after_(s.span_of(5e-6)),
      credits_(std::clamp((1u << 20) / std::max(localities, 1u), 256u, 16384u)),
      of_action_(all_actions().size()),
      watched_(std::make_unique<watched_arrivals>(of_action_.size())),
      messages_(std::make_shared<message_log>(s)) {
  for (unsigned i = 0; i < localities; ++i) {
    peers_.push_back(std::make_unique<port_peer>());
    peers_.back()->id = i;
    peers_.back()->common.to = peers_.back().get();
    set(peers_.back()->common, all_);
  }
  alarm_.context = this;
  alarm_.fire = ring;
  // Internal parcels of net have collectors of their own, independent of the program's settings.
  control_ = &new_collectors(0);
  for (const action_entry* e : all_actions())
    if (e != nullptr && e->control) of_action_[e->index].store(control_, std::memory_order_relaxed);
}

parcel_port::~parcel_port() {
  each_collector([](const collector& c, const action_collectors*) { delete c.open; });
}

// ------------------------------------------------------------------------------------------------------------ settings

parcel_port::action_collectors& parcel_port::new_collectors(std::uint16_t action) {
  auto a = std::make_unique<action_collectors>();
  a->to = std::make_unique<collector[]>(peers_.size());
  a->action = action;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    a->to[i].to = peers_[i].get();
    a->to[i].of_one_action = action != 0;
    set(a->to[i], a->how);
  }
  owned_.push_back(std::move(a));
  return *owned_.back();
}

// Sends the open message; the new limits apply to later parcels. Adaptive collectors start as self-clocking.
void parcel_port::set(collector& c, const coalescing& how) {
  const std::size_t standard = how.way == coalescing_way::fixed ? max_head_bytes_ : usual_message_bytes;
  frame_message* m = nullptr;
  {
    spin_guard guard(c.lock);
    c.way = how.way == coalescing_way::fixed ? coalescing_way::fixed : coalescing_way::self_clocking;
    // In deterministic mode idle times depend on the seed; only the number of parcels counts.
    c.leaves_idle = how.way == coalescing_way::fixed && !how.strict && !scheduler_.deterministic();
    c.parcels = std::max(how.parcels, 1u);
    c.interval = scheduler_.span_of(how.interval_us * 1e-6);
    c.bytes = std::min(how.bytes == 0 ? standard : how.bytes, max_head_bytes_);
    if (c.open != nullptr) m = take(c);
  }
  if (m != nullptr) leave(m, now_ticks());
}

void parcel_port::collect(std::uint16_t action, const coalescing& how) {
  PLX_ASSERT(action < of_action_.size(), action);
  spin_guard guard(settings_lock_);
  if (action == 0) {
    all_ = how;
    for (const auto& p : peers_) note_gaps(p->common, how), set(p->common, how);
    return;
  }
  action_collectors* own = of_action_[action].load(std::memory_order_relaxed);
  PLX_ASSERT((own == nullptr || own->action == action) && "the coalescing of internal parcels cannot be set", action);
  if (own == nullptr) own = &new_collectors(action);
  own->how = how;
  for (std::size_t i = 0; i < peers_.size(); ++i) note_gaps(own->to[i], how), set(own->to[i], how);
  of_action_[action].store(own, std::memory_order_release);  // pairs with the acquire in collector_of()
}

void parcel_port::note_gaps(collector& c, const coalescing& how) {
  auto counts = how.way == coalescing_way::adaptive ? std::make_unique<gap_counts>() : nullptr;
  spin_guard guard(c.lock);
  c.gaps.swap(counts);
}

void parcel_port::steer(std::uint16_t action, const coalescing& how) {
  PLX_ASSERT(action < of_action_.size() && how.way != coalescing_way::adaptive, action);
  spin_guard guard(settings_lock_);
  const action_collectors* own = action == 0 ? nullptr : of_action_[action].load(std::memory_order_relaxed);
  if ((own == nullptr ? all_ : own->how).way != coalescing_way::adaptive || (own == nullptr && action != 0)) return;
  for (std::size_t i = 0; i < peers_.size(); ++i) set(own == nullptr ? peers_[i]->common : own->to[i], how);
}

coalescing parcel_port::how_collected(std::uint16_t action) const {
  PLX_ASSERT(action < of_action_.size(), action);
  spin_guard guard(settings_lock_);
  const action_collectors* own = of_action_[action].load(std::memory_order_relaxed);
  return own == nullptr ? all_ : own->how;
}

// ------------------------------------------------------------------------------------------------------------- parcels

std::size_t parcel_port::max_payload_bytes() const noexcept {
  return max_head_bytes_ - sizeof(frame_header) - sizeof(parcel_header) - number_bytes;
}

collector& parcel_port::collector_of(port_peer& p, std::uint16_t action) const noexcept {
  const action_collectors* own = of_action_[action].load(std::memory_order_acquire);
  return own == nullptr ? p.common : own->to[p.id];
}

void parcel_port::prepare_tallies(collector& c) const {
  if (c.tallies == nullptr) [[unlikely]]
    c.tallies = std::make_unique<action_tally[]>(c.of_one_action ? 1 : of_action_.size());
}

// Makes room for a parcel of `parcel_bytes` bytes in the open message. The time that it takes to begin a message is
// measured if memory is allocated for it, or if the first parcel is large. Beginning one in reused memory takes hardly
// longer than reading the clock: one of several is measured, and stands for all. (The number is prime, unlike patterns
// of messages.)
void parcel_port::prepare(collector& c, std::size_t parcel_bytes, open_parcel& p) {
  constexpr unsigned messages_per_sample = 13;
  constexpr std::size_t large_bytes = 512;
  prepare_tallies(c);
  if (c.open == nullptr) {
    const std::size_t least = sizeof(frame_header) + parcel_bytes;
    const std::size_t wanted = std::max(least, std::min(c.usual_bytes, c.bytes));
    ++c.number;
    const bool large = parcel_bytes > large_bytes, sampled = large || c.number % messages_per_sample == 0;
    if (sampled) p.begun = now_ticks();
    c.open = store_.reuse(wanted);
    if (c.open != nullptr) {
      p.stands_for = large ? 1 : messages_per_sample;
    } else {
      if (!sampled) p.begun = now_ticks();
      c.open = message_store::create(wanted);
    }
  } else if (c.open->used + parcel_bytes > c.open->capacity) {
    message_store::grow(*c.open, c.open->used + parcel_bytes);
  }
}

open_parcel parcel_port::open(locality_id to, std::uint16_t action, const parcel_header& h) {
  PLX_ASSERT(to < peers_.size() && to != here_, to);
  PLX_ASSERT(action < of_action_.size(), action);
  PLX_ASSERT(h.size <= max_payload_bytes(), h.size);
  collector& c = collector_of(*peers_[to], action);
  const std::uint64_t number = next_number();
  const std::size_t bytes = sizeof h + h.size + (number != 0 ? number_bytes : 0);
  open_parcel p{.in = &c, .bytes = bytes, .number = number, .action = action};
  std::unique_lock guard(c.lock);
  if (c.open != nullptr && c.open->used + bytes > c.bytes) p.full = take(c);
  prepare(c, bytes, p);
  frame_message& m = *c.open;
  std::memcpy(m.bytes.get() + m.used, &h, sizeof h);
  p.payload = m.bytes.get() + m.used + sizeof h;
  if (number != 0) [[unlikely]]
    p.payload = put_number(p.payload - sizeof h, number);
  m.used += bytes;
  ++m.parcels;
  guard.release();  // close() unlocks
  return p;
}

void parcel_port::close(const open_parcel& p) noexcept {
  collector& c = *p.in;
  const ticks now = scheduler_.now();
  ticks begin = scheduler_.deterministic() ? now_ticks() : now;  // start of the work for a message
  ticks preparing = p.begun != 0 ? since(p.begun, begin) : 0;
  static const ticks most = ticks_from(0.3e-6);  // if it is longer, this thread was interrupted
  preparing += (p.stands_for - 1) * std::min(preparing, most);
  const ticks gap = gap_before(c, now);
  count(c, p.action, false, now);
  if (c.open->parcels == 1) {
    c.first = now;
    c.due = now + c.interval;
  }
  std::vector<collector*>* waits_in = nullptr;
  frame_message* leaves = nullptr;
  bool impatient = false;
  if (goes(c, p.bytes, gap, now) || is_urgent(c, p.action)) {
    leaves = take(c);
  } else {
    c.worker = own_worker();
    const bool self = c.way == coalescing_way::self_clocking;
    if (!std::exchange(self ? c.in_ready : c.in_timed, true)) waits_in = self ? &ready_ : &timed_;
    impatient = c.leaves_idle;
  }
  const ticks due = c.way != coalescing_way::self_clocking && leaves == nullptr ? c.due : timer_queue::never;
  const locality_id to = c.to->id;
  c.lock.unlock();
  if (p.number != 0) [[unlikely]]
    messages_->sent(p.number, to, p.bytes, name_of_action(p.action), now);
  if (p.full != nullptr) begin = leave(p.full, begin);
  if (leaves != nullptr) leave(leaves, begin);
  if (waits_in != nullptr) put_into(*waits_in, c);
  if (impatient && !any_impatient_.load(std::memory_order_relaxed))
    any_impatient_.store(true, std::memory_order_relaxed);
  rouse((waits_in == &ready_ || impatient) && waits_in != nullptr);
  const bool alarms = due < alarm_at_.load(std::memory_order_seq_cst);
  if (alarms) set_alarm(due);
  if (p.begun != 0 || alarms) note_prepared(preparing + (alarms ? since(begin, now_ticks()) : 0));
}

const plx::detail::worker* parcel_port::own_worker() const noexcept {
  const plx::detail::worker* w = this_worker();
  return w != nullptr && &w->home == &scheduler_ ? w : nullptr;
}

// A worker runs its pollers before it sleeps, but an external thread does not, and all workers may be asleep: wakes one
// to send the parcels and to let the transport make progress.
void parcel_port::rouse(bool waits) noexcept {
  if (own_worker() == nullptr && (waits || transport_.pending())) scheduler_.ask_pollers();
}

// The time of pollers is accounted separately.
void parcel_port::note_prepared(ticks span) noexcept {
  const plx::detail::worker* w = this_worker();
  if (w == nullptr || !w->polling) preparing_.fetch_add(span, std::memory_order_relaxed);
}

std::uint64_t parcel_port::next_number() noexcept { return messages_->on() ? messages_->next_number() : 0; }

void parcel_port::send(locality_id to, std::uint16_t action, large_message& m) noexcept {
  port_peer& p = *peers_[to];
  m.head = m.bytes;
  m.pieces = m.parts;
  m.size_bytes = m.bytes.size();
  for (const piece& part : m.parts) m.size_bytes += part.size_bytes;
  m.to = &p;
  m.port = this;
  m.sent = large_sent;
  collector& c = collector_of(p, action);
  ticks now = 0;
  {
    spin_guard guard(c.lock);
    now = scheduler_.now();  // under the lock, so that a collector's times ascend
    prepare_tallies(c);
    count(c, action, true, now);
    ++c.n_messages;
    c.n_bytes += m.size_bytes;
  }
  if (m.number != 0) [[unlikely]]
    messages_->sent(m.number, to, m.size_bytes, name_of_action(action), now);
  m.counted_bytes = std::min(m.size_bytes, most_unsent_.load(std::memory_order_relaxed) / 2);
  p.under_way.fetch_add(m.counted_bytes, std::memory_order_relaxed);
  p.not_counted.fetch_add(m.size_bytes - m.counted_bytes, std::memory_order_relaxed);  // for under_way_bytes() only
  hand_over(to, m, now_ticks());
  rouse(false);
}

bool parcel_port::has_room(const port_peer& p, bool queued, std::memory_order order) const noexcept {
  return p.unsent_bytes(order) < most_unsent_.load(std::memory_order_relaxed) &&
         (!queued || p.credits_out(order) < credits());
}

void parcel_port::wait_for_room(locality_id to, bool queued) {
  port_peer& p = *peers_[to];
  if (has_room(p, queued, std::memory_order_relaxed)) [[likely]]
    return;
  const plx::detail::worker* w = this_worker();
  if (w != nullptr && !w->in_task) return;
  if (queued) flush_all();  // calls that still wait for their interval hold credits as well
  p.room_lock.lock();
  for (;;) {
    p.anybody_waits.store(true, std::memory_order_seq_cst);
    if (has_room(p, queued, std::memory_order_seq_cst) || closed(to)) break;
    plx::detail::wait_on(p.for_room, p.room_lock, "room for parcels", &p);
    p.room_lock.lock();
  }
  p.room_lock.unlock();
}

void parcel_port::take_credits(locality_id to, std::uint64_t n) noexcept {
  peers_[to]->credits_taken.fetch_add(n, std::memory_order_relaxed);
}

// Reports may overtake each other: the largest one counts.
bool parcel_port::return_credits(locality_id from, std::uint64_t returned) noexcept {
  port_peer& p = *peers_[from];
  // The taker of these credits added them before it sent the call that this report follows from.
  if (returned > p.credits_taken.load(std::memory_order_relaxed)) return false;
  std::uint64_t before = p.credits_returned.load(std::memory_order_relaxed);
  while (returned > before && !p.credits_returned.compare_exchange_weak(before, returned, std::memory_order_seq_cst)) {
  }
  if (p.credits_out() <= credits() / 2 && p.anybody_waits.load(std::memory_order_seq_cst)) p.wake_all();
  return true;
}

std::uint64_t parcel_port::credits_out(locality_id to) const noexcept { return peers_[to]->credits_out(); }

}  // namespace plx::net
