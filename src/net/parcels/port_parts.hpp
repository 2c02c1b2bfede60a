// The parts of a port: its state for each other locality, and the collectors of actions with settings of their own.
// Internal to parcel_port.cpp, parcel_flush.cpp and port_counters.cpp.
//
// Thread safety: members are atomic or guarded by `room_lock`; collectors as in net/parcels/collector.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "net/locality.hpp"
#include "net/parcels/collector.hpp"
#include "net/parcels/parcel_port.hpp"
#include "rt/sync/wait.hpp"

namespace plx::net {

/// Time since `then`; 0 if `then` is later because the clocks of two threads differ.
inline ticks since(ticks then, ticks now) noexcept { return now > then ? now - then : 0; }

struct port_peer {
  locality_id id = 0;
  collector common;  // of the actions without a collector of their own
  // Data that the transport has accepted and not yet sent: bytes in the low bits, above them the number of messages
  // (modulo 2^24; large messages are not counted). One variable, so that one addition updates both.
  static constexpr std::uint64_t one_message = std::uint64_t{1} << 40;
  alignas(64) std::atomic<std::uint64_t> under_way{0};
  std::atomic<std::uint64_t> not_counted{0};  // bytes of large messages beyond half of the bound
  // Credits of calls to this locality, since the start: those taken, and those that it has returned.
  std::atomic<std::uint64_t> credits_taken{0}, credits_returned{0};
  std::atomic<ticks> send_cost{0};    // recent cost of handing over a short message; relaxed: a hint, as the next one
  std::atomic<ticks> handed_over{0};  // time of the last handover
  std::atomic<bool> closed{false};
  // A task that waits for room sets this, then checks `under_way` and `credits_returned` again; a thread that lowers
  // the one or raises the other checks this afterwards. Both are sequentially consistent, so at least one of them sees
  // the other.
  std::atomic<bool> anybody_waits{false};
  plx::detail::spinlock room_lock;
  plx::detail::wait_list for_room;

  static constexpr std::uint64_t bytes_in(std::uint64_t n) noexcept { return n & (one_message - 1); }
  [[nodiscard]] std::uint64_t unsent_bytes(std::memory_order order = std::memory_order_relaxed) const noexcept {
    return bytes_in(under_way.load(order));
  }
  [[nodiscard]] std::uint64_t in_flight() const noexcept {
    return under_way.load(std::memory_order_relaxed) / one_message;
  }
  [[nodiscard]] std::uint64_t credits_out(std::memory_order order = std::memory_order_relaxed) const noexcept {
    // Read in this order, because credits are taken before they are returned.
    const std::uint64_t returned = credits_returned.load(order);
    return credits_taken.load(order) - returned;
  }
  /// `what` has been sent, in bytes and one_message; `bound`: the maximum number of bytes in flight.
  void note_sent(std::uint64_t what, std::uint64_t bound) noexcept {
    const std::uint64_t before = under_way.fetch_sub(what, std::memory_order_seq_cst);
    if (bytes_in(before - what) <= bound / 2 && anybody_waits.load(std::memory_order_seq_cst)) wake_all();
  }
  /// A message was handed to the transport between these two times.
  void note_handed_over(ticks begin, ticks end, bool is_short) noexcept {
    handed_over.store(end, std::memory_order_relaxed);
    if (!is_short) return;
    const ticks cost = send_cost.load(std::memory_order_relaxed), seen = end > begin ? end - begin : 0;
    // Much longer than usual means that the thread was preempted or had to wait; such samples have little weight.
    const ticks most = 4 * cost + ticks_from(100e-9);
    send_cost.store((7 * cost + (seen < most ? seen : most)) / 8, std::memory_order_relaxed);
  }
  /// Wakes the tasks that wait for room.
  void wake_all() noexcept {
    plx::detail::waiter* first = nullptr;
    {
      plx::detail::spin_guard guard(room_lock);
      first = for_room.take_all();
      anybody_waits.store(false, std::memory_order_seq_cst);
    }
    plx::detail::notify_all(first);
  }
};

struct parcel_port::action_collectors {
  std::unique_ptr<collector[]> to;  // by locality
  std::uint16_t action = 0;         // 0: internal ones of net
  coalescing how = self_clocking;
};

/// Calls f(collector, owner) for each; owner is null for the common collectors.
template <class F>
void parcel_port::each_collector(F f) const {
  for (const auto& p : peers_) f(p->common, nullptr);
  plx::detail::spin_guard guard(settings_lock_);
  for (const auto& a : owned_)
    for (std::size_t i = 0; i < peers_.size(); ++i) f(a->to[i], a.get());
}

struct parcel_port::watched_arrivals {
  explicit watched_arrivals(std::size_t actions) : first(actions) {}
  std::vector<std::atomic<arrival_histogram*>> first;  // by action; 0: all actions
  struct entry {
    std::uint16_t action;
    double least_s, most_s;
    arrival_histogram histogram;
  };
  std::vector<std::unique_ptr<entry>> all;  // guarded by settings_lock_
};

}  // namespace plx::net
