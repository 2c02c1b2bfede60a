// Counters that a program pushes: it says a number, and whoever asks reads the last one.
//
//   plx::probe::tally visited(rt.counters(), {"/search/count/visited", "1", "Nodes visited"});
//   visited.add();                                  // from any thread
//   plx::probe::gauge depth(rt.counters(), {"/search/depth", "1", "Depth of the search now"});
//   depth.set(7);
//
// Thread safety: everything but moving. Cost: an atomic instruction on a cache line of its own, which the threads that
//   write it share: for what happens less than some million times a second. A number that a thread keeps anyway is
//   cheaper pulled, by counter_registry::add(). Example: probe/counters/test/gauge_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"

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

/// Counters of other localities: what a network gives a registry, so that "{locality#1/...}" is read as if it were
/// here.
///
/// Thread safety: an implementation is called by any thread, several at a time, never under a lock of the registry.
/// Example: probe/counters/test/counter_source_test.cpp
class counter_source {
 public:
  virtual ~counter_source() = default;
  /// The localities that can be asked, without this one.
  virtual std::vector<unsigned> localities() = 0;
  /// What counter_registry::query() of that locality says, its names with "locality#N" of that one. It may block for
  /// as long as the network takes; a locality that does not answer is an error of one line.
  virtual result<std::vector<counter_value>> query(unsigned locality, std::string_view pattern, after_reading then) = 0;
  /// What counter_registry::list() of that locality says.
  virtual result<std::vector<counter_info>> list(unsigned locality, std::string_view pattern) = 0;
  /// What counter_registry::reset() of that locality does.
  virtual result<void> reset(unsigned locality, std::string_view pattern) = 0;
};

}  // namespace plx::probe
