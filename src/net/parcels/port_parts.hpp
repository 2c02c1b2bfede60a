// What a port is made of: what it knows of each other locality, and the collectors of actions that go their own way.
// For parcel_port.cpp, parcel_flush.cpp and parcel_counts.cpp.
//
// Thread safety: the atomics and `room_lock` say it; collectors as in net/parcels/collector.hpp.
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

/// Time since `then`; 0 where the clocks of two threads differ the other way.
inline ticks since(ticks then, ticks now) noexcept { return now > then ? now - then : 0; }

struct port_peer {
  locality_id id = 0;
  collector common;  // of the actions that have none of their own
  // What was handed over and has not left: bytes, and above them the number of messages of parcels (modulo 2^24, where
  // large ones do not count). One number, for one addition.
  static constexpr std::uint64_t one_message = std::uint64_t{1} << 40;
  alignas(64) std::atomic<std::uint64_t> under_way{0};
  std::atomic<std::uint64_t> not_counted{0};  // bytes of large messages beyond half of the bound, which count no more
  std::atomic<ticks> send_cost{0};    // of handing over a short message, lately; relaxed: a hint, as the next one
  std::atomic<ticks> handed_over{0};  // when the last one had been
  std::atomic<bool> closed{false};
  // Who waits for room sets this, then looks at `under_way` once more; who lowers that looks at this afterwards. All of
  // it is sequentially consistent, so one of them sees the other.
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
  /// So much has left, in bytes and one_message; `bound`: how many bytes may be under way.
  void note_sent(std::uint64_t what, std::uint64_t bound) noexcept {
    const std::uint64_t before = under_way.fetch_sub(what, std::memory_order_seq_cst);
    if (bytes_in(before - what) <= bound / 2 && anybody_waits.load(std::memory_order_seq_cst)) wake_all();
  }
  /// A short message was handed over between these two times.
  void note_handed_over(ticks begin, ticks end, bool is_short) noexcept {
    handed_over.store(end, std::memory_order_relaxed);
    if (!is_short) return;
    const ticks cost = send_cost.load(std::memory_order_relaxed), seen = end > begin ? end - begin : 0;
    // Much longer than usual: the processor was taken away, or it had to wait. Such ones count little.
    const ticks most = 4 * cost + ticks_from(100e-9);
    send_cost.store((7 * cost + (seen < most ? seen : most)) / 8, std::memory_order_relaxed);
  }
  /// Wakes those who wait for room.
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
  std::uint16_t action = 0;         // 0: net's own ones
  coalescing how = self_clocking;
};

/// f(collector, whose it is): null for those of all actions.
template <class F>
void parcel_port::each_collector(F f) const {
  for (const auto& p : peers_) f(p->common, nullptr);
  plx::detail::spin_guard guard(settings_lock_);
  for (const auto& a : owned_)
    for (std::size_t i = 0; i < peers_.size(); ++i) f(a->to[i], a.get());
}

struct parcel_port::watched_arrivals {
  explicit watched_arrivals(std::size_t actions) : first(actions) {}
  std::vector<std::atomic<arrival_histogram*>> first;  // by action; 0: of all
  struct entry {
    std::uint16_t action;
    double least_s, most_s;
    arrival_histogram histogram;
  };
  std::vector<std::unique_ptr<entry>> all;  // guarded by settings_lock_
};

}  // namespace plx::net
