// How long after the one before parcels come, counted in buckets of equal width.
//
// Thread safety: everything. Cost: add() is an atomic increment. Example: net/port_counters_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.hpp"

namespace plx::net {

/// From `least` to `most` ticks in `buckets` of equal width; below and above as well.
class arrival_histogram {
 public:
  /// Requires: least < most; at least one bucket.
  arrival_histogram(ticks least, ticks most, std::size_t buckets)
      : least_(least),
        n_(buckets),
        per_tick_(static_cast<double>(buckets) / static_cast<double>(most - least)),
        counts_(std::make_unique<std::atomic<std::uint64_t>[]>(buckets + 2)) {}

  void add(ticks gap) noexcept {
    std::size_t i = 0;
    if (gap >= least_) i = 1 + static_cast<std::size_t>(static_cast<double>(gap - least_) * per_tick_);
    counts_[i < n_ + 1 ? i : n_ + 1].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t buckets() const noexcept { return n_; }
  /// 0: below the first bucket; 1 to buckets(); buckets() + 1: above the last.
  [[nodiscard]] std::uint64_t count(std::size_t i) const noexcept { return counts_[i].load(std::memory_order_relaxed); }

  arrival_histogram* next = nullptr;  ///< of the same action

 private:
  const ticks least_;
  const std::size_t n_;
  const double per_tick_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
};

}  // namespace plx::net
