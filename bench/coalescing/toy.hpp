// Two localities call each other with one complex double, which comes back conjugated.
#pragma once

#include <vector>

#include "net/locality.hpp"
#include "rt/future.hpp"
#include "traffic.hpp"

namespace plx::bench {

/// Calls of one locality, all of a run under way at once: where only so many may be, the last answers of each such
/// number wait for the interval, and the interval is what is measured. One task uses it.
class toy_calls {
 public:
  explicit toy_calls(locality_id to) : to_(to) {}
  /// Makes n calls, waits for all answers, and compares each with what it must be, bit by bit.
  void run(std::size_t n);

 private:
  [[nodiscard]] static number value(std::uint64_t i) noexcept;

  locality_id to_;
  std::uint64_t made_ = 0;  // each call has a number of its own
  std::vector<future<number>> results_;
};

}  // namespace plx::bench
