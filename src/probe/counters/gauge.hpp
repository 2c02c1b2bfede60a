// Counters that a program updates: readers get the last value set.
//
//   plx::probe::tally visited(rt.counters(), {"/search/count/visited", "1", "Nodes visited"});
//   visited.add();                                  // from any thread
//   plx::probe::gauge depth(rt.counters(), {"/search/depth", "1", "Depth of the search now"});
//   depth.set(7);
//
// Thread safety: everything but moving is thread-safe. Cost: an atomic instruction on a separate cache line that the
// writing threads share: for events below a few million per second. A number that a thread keeps anyway is cheaper to
// read on demand, by counter_registry::add(). Example: probe/counters/test/gauge_test.cpp
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

/// A number that may increase and decrease.
class gauge {
 public:
  /// Requires: as counter_registry::add().
  gauge(counter_registry& registry, counter_info info)
      : number_(std::make_shared<detail::pushed_number<double>>()),
        keep_(registry.add(std::move(info), [n = number_] { return n->value.load(std::memory_order_relaxed); })) {}
  /// Sets the value.
  void set(double value) noexcept { number_->value.store(value, std::memory_order_relaxed); }
  /// Adds `step` to the value.
  void add(double step) noexcept { number_->value.fetch_add(step, std::memory_order_relaxed); }
  /// The present value.
  [[nodiscard]] double value() const noexcept { return number_->value.load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<detail::pushed_number<double>> number_;
  registration keep_;
};

/// A number of events, which only increases.
class tally {
 public:
  /// Requires: as counter_registry::add(). The counter is monotonic.
  tally(counter_registry& registry, counter_info info)
      : number_(std::make_shared<detail::pushed_number<std::uint64_t>>()),
        keep_(registry.add(growing(std::move(info)),
                           [n = number_] { return n->value.load(std::memory_order_relaxed); })) {}
  /// Counts `n` events.
  void add(std::uint64_t n = 1) noexcept { number_->value.fetch_add(n, std::memory_order_relaxed); }
  /// The number of events counted.
  [[nodiscard]] std::uint64_t value() const noexcept { return number_->value.load(std::memory_order_relaxed); }

 private:
  static counter_info growing(counter_info info) {
    info.monotonic = true;
    return info;
  }
  std::shared_ptr<detail::pushed_number<std::uint64_t>> number_;
  registration keep_;
};

/// Reads counters of other localities: a network provides it to a registry, so that "{locality#1/...}" can be read as
/// if it were local.
///
/// Thread safety: an implementation is called by any thread, several at a time, never under a lock of the registry.
/// Example: probe/counters/test/counter_source_test.cpp
class counter_source {
 public:
  virtual ~counter_source() = default;
  /// The localities that can be read, without this one.
  virtual std::vector<unsigned> localities() = 0;
  /// The result of counter_registry::query() in that locality, with its "locality#N" in the names. It may block for as
  /// long as the network takes; a locality that does not answer is an error of one line.
  virtual result<std::vector<counter_value>> query(unsigned locality, std::string_view pattern, after_reading then) = 0;
  /// The result of counter_registry::list() in that locality.
  virtual result<std::vector<counter_info>> list(unsigned locality, std::string_view pattern) = 0;
  /// Calls counter_registry::reset() in that locality.
  virtual result<void> reset(unsigned locality, std::string_view pattern) = 0;
};

}  // namespace plx::probe
