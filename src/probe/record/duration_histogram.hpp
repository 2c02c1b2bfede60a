// Durations by bin: eight bins per factor of two, so that quantiles are known to an eighth of their value.
//
// Thread safety: none; each worker_log counts in an array of its own, and recorder::durations() sums these.
// Cost: bin_of() takes five instructions; reading is O(n_bins). Example: probe/record/test/duration_histogram_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace plx::probe {

class duration_histogram {
 public:
  /// Forty octaves: at 3 GHz up to 49 minutes; longer durations are in the last bin.
  static constexpr std::size_t n_bins = 320;

  /// The bin of a duration in ticks: the exponent and three bits of the mantissa of duration + 8, so that the bins
  /// below 8 ticks have a width of 1.
  static std::size_t bin_of(double duration) noexcept {
    return std::min<std::uint64_t>((std::bit_cast<std::uint64_t>(duration + 8) >> bits_below) - first, n_bins - 1);
  }
  /// The least duration of a bin, in ticks. Requires: bin <= n_bins.
  static double lower(std::size_t bin) noexcept { return std::bit_cast<double>((first + bin) << bits_below) - 8; }

  /// Requires: bin < n_bins.
  void add(std::size_t bin, std::uint64_t calls) noexcept { calls_[bin] += calls; }
  /// The sum over the bins.
  [[nodiscard]] std::uint64_t calls() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : calls_) sum += n;
    return sum;
  }
  /// The duration in ticks that `share` of the calls do not exceed, interpolated within its bin; 0 without calls.
  /// Requires: 0 <= share <= 1.
  [[nodiscard]] double quantile(double share) const noexcept {
    const double rank = share * static_cast<double>(calls());
    double below = 0;
    for (std::size_t b = 0; b < n_bins; ++b) {
      const auto n = static_cast<double>(calls_[b]);
      if (n > 0 && below + n >= rank) return lower(b) + (lower(b + 1) - lower(b)) * (rank - below) / n;
      below += n;
    }
    return 0;
  }
  /// Calls that take at most `duration` ticks; those of its bin are counted in proportion.
  [[nodiscard]] std::uint64_t calls_within(double duration) const noexcept {
    std::uint64_t below = 0;
    for (std::size_t b = 0; b < n_bins && lower(b) <= duration; ++b) {
      const double part = std::min(1.0, (duration - lower(b)) / (lower(b + 1) - lower(b)));
      below += static_cast<std::uint64_t>(part * static_cast<double>(calls_[b]));
    }
    return below;
  }

 private:
  static constexpr unsigned bits_below = 52 - 3;  // of a double, below three bits of the mantissa
  static constexpr std::uint64_t first = std::bit_cast<std::uint64_t>(8.0) >> bits_below;

  std::array<std::uint64_t, n_bins> calls_{};
};

}  // namespace plx::probe
