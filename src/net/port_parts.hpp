// What a port is made of: what it knows of each other locality, and the collectors of actions that go their own way.
// For parcel_port.cpp, parcel_flush.cpp and parcel_counts.cpp.
//
// Thread safety: the atomics and `room_lock` say it; collectors as in net/collector.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/collector.hpp"
#include "net/locality_id.hpp"
#include "net/parcel_port.hpp"
#include "rt/detail/wait.hpp"

namespace plx::net {

struct port_peer {
  locality_id id = 0;
  collector common;  // of the actions that have none of their own
  alignas(64) std::atomic<unsigned> in_flight{0};
  std::atomic<std::uint64_t> unsent{0};
  std::atomic<bool> closed{false};
  // Who waits for room sets this, then looks at `unsent` once more; who lowers that looks at this afterwards. All of it
  // is sequentially consistent, so one of them sees the other.
  std::atomic<bool> anybody_waits{false};
  plx::detail::spinlock room_lock;
  plx::detail::wait_list for_room;

  /// So many bytes have left; `bound`: how many may be under way.
  void note_sent(std::uint64_t bytes, std::uint64_t bound) noexcept {
    const std::uint64_t before = unsent.fetch_sub(bytes, std::memory_order_seq_cst);
    if (before - bytes <= bound / 2 && anybody_waits.load(std::memory_order_seq_cst)) wake_all();
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
