// Two localities call each other with one complex double, which comes back conjugated.
#pragma once

#include <vector>

#include "net/locality.hpp"
#include "rt/future.hpp"
#include "traffic.hpp"

namespace plx::bench {

/// The calls of one locality, all of a run in flight together: with a limit, the last answers of each batch would wait
/// for the interval, and the interval would be measured. Used by one task.
class toy_calls {
 public:
  explicit toy_calls(locality_id to) : to_(to) {}
  /// Makes n calls, waits for all answers, and compares each with the expected value, bit by bit.
  void run(std::size_t n);

 private:
  [[nodiscard]] static number value(std::uint64_t i) noexcept;

  locality_id to_;
  std::uint64_t made_ = 0;  // each call has its own number
  std::vector<future<number>> results_;
};

}  // namespace plx::bench
