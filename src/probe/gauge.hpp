// Counters that a program pushes: it says a number, and whoever asks reads the last one.
//
//   plx::probe::tally visited(rt.counters(), {"/search/count/visited", "1", "Nodes visited"});
//   visited.add();                                  // from any thread
//   plx::probe::gauge depth(rt.counters(), {"/search/depth", "1", "Depth of the search now"});
//   depth.set(7);
//
// Thread safety: everything but moving. Cost: an atomic instruction on a cache line of its own, which the threads that
//   write it share: for what happens less than some million times a second. A number that a thread keeps anyway is
//   cheaper pulled, by counter_registry::add(). Example: probe/gauge_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "probe/counter_registry.hpp"

namespace plx::probe {

namespace detail {
template <class T>
struct alignas(64) pushed_number {
  std::atomic<T> value{0};  // relaxed everywhere: it orders nothing
};
}  // namespace detail

/// A number that goes up and down.
class gauge {
 public:
  /// Requires: as counter_registry::add().
  gauge(counter_registry& registry, counter_info info)
      : number_(std::make_shared<detail::pushed_number<double>>()),
        keep_(registry.add(std::move(info), [n = number_] { return n->value.load(std::memory_order_relaxed); })) {}
  /// The value from now on.
  void set(double value) noexcept { number_->value.store(value, std::memory_order_relaxed); }
  /// Changes the value by so much.
  void add(double step) noexcept { number_->value.fetch_add(step, std::memory_order_relaxed); }
  /// The value now.
  [[nodiscard]] double value() const noexcept { return number_->value.load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<detail::pushed_number<double>> number_;
  registration keep_;
};

/// A number of events, which only grows.
class tally {
 public:
  /// Requires: as counter_registry::add(). The counter is monotonic.
  tally(counter_registry& registry, counter_info info)
      : number_(std::make_shared<detail::pushed_number<std::uint64_t>>()),
        keep_(registry.add(growing(std::move(info)),
                           [n = number_] { return n->value.load(std::memory_order_relaxed); })) {}
  /// Counts so many more.
  void add(std::uint64_t n = 1) noexcept { number_->value.fetch_add(n, std::memory_order_relaxed); }
  /// All that was counted.
  [[nodiscard]] std::uint64_t value() const noexcept { return number_->value.load(std::memory_order_relaxed); }

 private:
  static counter_info growing(counter_info info) {
    info.monotonic = true;
    return info;
  }
  std::shared_ptr<detail::pushed_number<std::uint64_t>> number_;
  registration keep_;
};

}  // namespace plx::probe
