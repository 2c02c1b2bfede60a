// Two localities call each other with one complex double, which comes back conjugated.
#pragma once

#include <vector>

#include "net/locality_id.hpp"
#include "rt/future.hpp"
#include "traffic.hpp"

namespace plx::bench {

/// Calls of one locality, of which so many are under way at once that no message waits for lack of parcels, and so few
/// that all they need stays in the caches. One task uses it.
class toy_calls {
 public:
  static constexpr std::size_t most_under_way = 10'000;

  explicit toy_calls(locality_id to) : to_(to) {}
  /// Makes n calls, waits for all answers, and compares each with what it must be, bit by bit.
  void run(std::size_t n);

 private:
  [[nodiscard]] static number value(std::uint64_t i) noexcept;
  void check(std::uint64_t i);

  locality_id to_;
  std::uint64_t made_ = 0;  // each call has a number of its own
  std::vector<future<number>> results_ = std::vector<future<number>>(most_under_way);  // by number, over and over
};

}  // namespace plx::bench
