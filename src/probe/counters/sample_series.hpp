// Repeated samples of one counter and their statistics: over all samples, and over the most recent ones.
//
// Thread safety: all functions are thread-safe. Cost: sample() reads the counter and is O(1); a median sorts a copy.
// Example: probe/counters/test/derived_counters_test.cpp
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe::detail {

/// Statistics of n samples: running mean and variance (Welford 1962), minimum and maximum. For the median, the samples
/// themselves; beyond 4096, a uniform random selection of that size (Vitter 1985, algorithm R).
class sample_series {
 public:
  static constexpr std::size_t most_kept = 4096;

  explicit sample_series(counter_handle source) : source_(std::move(source)) {}

  /// Enables rolling_* over the last `n` samples; the largest n is used.
  void keep_last(std::size_t n);
  /// Reads the counter once. A value that cannot be read is skipped.
  void sample();
  /// As sample(), with a given value and time in seconds.
  void add(double value, double time_s);
  void reset();

  /// `statistic`: "average", "stddev", ..., "rolling_max", "rate", "count". Throws std::runtime_error with one line if
  /// there is no sample.
  double value(std::string_view statistic, std::size_t window) const;

 private:
  double over_all(std::string_view statistic) const;
  double over_last(std::string_view statistic, std::size_t window) const;

  const counter_handle source_;
  mutable std::mutex mutex_;
  std::uint64_t n_ = 0;
  double mean_ = 0, squares_ = 0, least_ = 0, greatest_ = 0;
  std::vector<double> kept_;
  std::uint64_t random_ = 0x9e3779b97f4a7c15u;
  std::vector<double> last_;     // a ring: sample i is at i % size()
  std::uint64_t ring_from_ = 0;  // the first sample in the ring
  double value_before_ = 0, time_before_ = 0, rate_ = 0;
  std::string problem_;  // of the last sample
};

}  // namespace plx::probe::detail

namespace plx::probe {

/// Periodically writes counters into counters.csv of the run's folder and, as curves, into the trace.
///
/// Thread safety: one call at a time. Errors: a file that cannot be written is reported once, in the log, and retried;
/// the curves continue. Cost: reading the counters and writing a line for each. Example:
/// session/test/counter_printer_test.cpp
class counter_sampler {
 public:
  /// The arguments must outlive it. `path`: the CSV file, which is overwritten; its folder is created.
  counter_sampler(recorder& r, counter_registry& counters, std::vector<std::string> patterns, std::string path);
  /// Reads all matching counters once. Returns the first error.
  result<void> sample();

 private:
  result<void> write(const std::string& text);
  recorder& recorder_;
  counter_registry& counters_;
  const std::vector<std::string> patterns_;
  const std::string path_;
  const double begin_s_;
  bool said_ = false;
};

}  // namespace plx::probe
