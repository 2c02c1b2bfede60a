// Values of one counter, taken again and again, and their statistics: over all samples, and over the last ones.
//
// Thread safety: everything. Cost: sample() reads the counter and is O(1); a median sorts a copy.
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

/// n samples so far: mean and variance as they go (Welford 1962), least and greatest; for the median the samples
/// themselves, from 4096 on a random choice of as many in which each sample is equally likely (Vitter 1985, algorithm
/// R).
class sample_series {
 public:
  static constexpr std::size_t most_kept = 4096;

  explicit sample_series(counter_handle source) : source_(std::move(source)) {}

  /// Makes rolling_* possible over the last `n` samples; the largest n counts.
  void keep_last(std::size_t n);
  /// Reads the counter once. A value that cannot be read is left out.
  void sample();
  /// As sample(), with a value and a time in seconds.
  void add(double value, double time_s);
  void reset();

  /// "average", "stddev", ..., "rolling_max", "rate", "count". Throws std::runtime_error with one line when there is no
  /// sample to tell from.
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
  std::vector<double> last_;     // a ring: the sample number i stands at i % size()
  std::uint64_t ring_from_ = 0;  // the first sample that it knows
  double value_before_ = 0, time_before_ = 0, rate_ = 0;
  std::string problem_;  // of the last sample
};

}  // namespace plx::probe::detail

namespace plx::probe {

/// Writes counters down on an interval: into counters.csv of the run's folder, and as curves into the trace.
///
/// Thread safety: one call at a time. Errors: a file that cannot be written is said once, in the log, and tried again;
/// the curves go on. Cost: of reading the counters and a line for each. Example: session/test/counter_printer_test.cpp
class counter_sampler {
 public:
  /// What it is given must outlive it. `path` is of the CSV file, whose folder is made; it is begun anew.
  counter_sampler(recorder& r, counter_registry& counters, std::vector<std::string> patterns, std::string path);
  /// Reads all that match, once. Gives the first error.
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
