// What a port counts.
#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "net/port_parts.hpp"
#include "rt/detail/scheduler.hpp"

namespace plx::net {

using plx::detail::spin_guard;

namespace {
// Clocks of two cores may differ by a little.
ticks between(ticks before, ticks now) noexcept { return now > before ? now - before : 0; }
}  // namespace

// The lock of `c` is held. `alone`: in a message of its own.
void parcel_port::count(collector& c, std::uint16_t action, bool alone, ticks now) noexcept {
  if (watches_arrivals_.load(std::memory_order_relaxed)) [[unlikely]]
    note_arrival(c, action, now);
  if (c.gaps != nullptr && c.n_parcels != 0) [[unlikely]]
    ++(*c.gaps)[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(between(c.last, now))),
                                      c.gaps->size() - 1)];
  if (c.n_parcels++ == 0) c.begun = now;
  c.last = now;
  action_tally& t = c.tally(action);
  if (t.parcels++ == 0) t.first = now;
  t.last = now;
  if (alone) {
    ++c.n_large;
    ++t.messages;
  } else if (t.last_message != c.number) {
    ++t.messages;
    t.last_message = c.number;
  }
}

port_counts parcel_port::counts() const {
  port_counts n;
  each_collector([&n](collector& c, const action_collectors*) {
    spin_guard guard(c.lock);
    n.parcels_sent += c.n_parcels;
    n.messages_sent += c.n_messages;
    n.bytes_sent += c.n_bytes;
  });
  n.parcels_received = parcels_received_.load(std::memory_order_relaxed);
  n.messages_received = messages_received_.load(std::memory_order_relaxed);
  n.bytes_received = bytes_received_.load(std::memory_order_relaxed);
  n.refused = refused_.load(std::memory_order_relaxed);
  return n;
}

action_counts parcel_port::counts_of(std::uint16_t action) const {
  action_counts n;
  const double tick_s = 1 / static_cast<double>(scheduler_.span_of(1));
  const auto add_gaps = [&n, tick_s](std::uint64_t parcels, ticks span) {
    if (parcels == 0) return;
    n.gaps += parcels - 1;
    n.gaps_s += tick_s * static_cast<double>(span);
  };
  each_collector([&](collector& c, const action_collectors* own) {
    spin_guard guard(c.lock);
    if ((own != nullptr && own->action == 0) || c.tallies == nullptr) return;
    if (action == 0) {
      n.parcels += c.n_parcels;
      n.messages += c.number + c.n_large;
      add_gaps(c.n_parcels, c.last - c.begun);
    } else if (own == nullptr || own->action == action) {
      const action_tally& t = c.tally(action);
      n.parcels += t.parcels;
      n.messages += t.messages;
      add_gaps(t.parcels, t.last - t.first);
    }
  });
  return n;
}

collected_counts parcel_port::collected(std::uint16_t action) const {
  collected_counts n;
  each_collector([&](collector& c, const action_collectors* own) {
    if ((own == nullptr ? 0 : own->action) != action || own == control_) return;
    spin_guard guard(c.lock);
    n.parcels += c.n_parcels;
    n.messages += c.number + c.n_large;
    n.bytes += c.n_bytes;
    n.most_bytes = c.bytes;
    for (std::size_t i = 0; c.gaps != nullptr && i < n.gaps.size(); ++i) n.gaps[i] += (*c.gaps)[i];
  });
  return n;
}

std::uint64_t parcel_port::under_way_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& p : peers_) sum += p->unsent_bytes() + p->not_counted.load(std::memory_order_relaxed);
  return sum;
}

const arrival_histogram& parcel_port::watch_arrivals(std::uint16_t action, double least_s, double most_s,
                                                     unsigned buckets) {
  PLX_ASSERT(action < of_action_.size() && least_s < most_s && buckets > 0, action, buckets);
  spin_guard guard(settings_lock_);
  for (const auto& e : watched_->all)
    if (e->action == action && e->least_s == least_s && e->most_s == most_s && e->histogram.buckets() == buckets)
      return e->histogram;
  const ticks least = scheduler_.span_of(least_s);
  const ticks most = std::max(scheduler_.span_of(most_s), least + 1);
  using entry = watched_arrivals::entry;
  watched_->all.push_back(std::unique_ptr<entry>(new entry{action, least_s, most_s, {least, most, buckets}}));
  arrival_histogram& h = watched_->all.back()->histogram;
  auto& first = watched_->first[action];
  h.next = first.load(std::memory_order_relaxed);
  first.store(&h, std::memory_order_release);  // pairs with the acquire in note_arrival()
  watches_arrivals_.store(true, std::memory_order_relaxed);
  return h;
}

// Before the parcel is counted; the lock of `c` is held.
void parcel_port::note_arrival(collector& c, std::uint16_t action, ticks now) const noexcept {
  const auto add = [this](std::uint16_t which, ticks gap) {
    for (auto* h = watched_->first[which].load(std::memory_order_acquire); h != nullptr; h = h->next) h->add(gap);
  };
  const bool own = of_action_[action].load(std::memory_order_relaxed) == control_;
  if (c.n_parcels != 0 && !own) add(0, between(c.last, now));
  if (const action_tally& t = c.tally(action); t.parcels != 0 && action != 0) add(action, between(t.last, now));
}

// By the poller, of which there is one at a time: no locked instruction is needed.
void parcel_port::note_received(std::uint64_t parcels, std::uint64_t bytes) noexcept {
  const auto add_alone = [](std::atomic<std::uint64_t>& to, std::uint64_t n) {
    to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  };
  add_alone(parcels_received_, parcels);
  add_alone(messages_received_, 1);
  add_alone(bytes_received_, bytes);
}

void parcel_port::note_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }

}  // namespace plx::net
