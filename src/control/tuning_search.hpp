// Internal: the interface of a strategy. It always minimizes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "control/tuning.hpp"

namespace plx::probe::detail {

class search {
 public:
  struct found {
    places at;
    double value;
    bool certain;
  };
  virtual ~search() = default;
  /// The next place; empty once the search has converged.
  virtual std::optional<places> next() = 0;
  /// Reports the value at the last place of next(); infinity if it is not finite.
  virtual void observe(double value) = 0;
  /// True if the same place gives a different value each time: then no value is answered from memory, and the strategy
  /// determines the best place.
  [[nodiscard]] virtual bool repeats() const noexcept { return false; }
  [[nodiscard]] virtual std::optional<found> best() const { return std::nullopt; }
};

/// Steele, Lea, Flood (2014): SplitMix64. Identical on every machine, unlike the standard's distributions.
class tuning_random {
 public:
  explicit tuning_random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567u) {}
  std::uint64_t bits() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t n) noexcept { return n == 0 ? 0 : bits() % n; }  // n is small

 private:
  std::uint64_t state_;
};

/// The place at which a search begins.
places start_of(const parameters& space);
/// The search of these options; null if it needs NLopt and the build does not include that library.
std::unique_ptr<search> make_search(const tuning_options& o);

/// Bounds that contain the median of independent values with probability at least 1 - doubt, for any distribution: the
/// r-th smallest and r-th largest value, with the largest r for which 2 P(Binomial(n, 1/2) < r) <= doubt. Infinite if
/// there are too few values. Requires: sorted.
struct median_bounds {
  double median, low, high;
};
median_bounds bounds_of_median(const std::vector<double>& sorted, double doubt) noexcept;

}  // namespace plx::probe::detail
