// Errors of correlated samples: binning with the autocorrelation time, and the jackknife for functions of means. The
// limit of values for many numbers of frequencies.
//
// Thread safety: one thread at a time per object. Cost: binning::add is O(1), memory O(log n); a jackknife calls its
// function once per bin and once more. Example: num/test/statistics_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plx {

class number_reader;
class number_writer;

/// A value with its standard error.
struct estimate {
  double value = 0, error = 0;
};

/// Mean, error and autocorrelation time of a series by blocking: level l holds the means of 2^l successive samples.
/// Source: Flyvbjerg, Petersen (1989).
class binning {
 public:
  /// Adds a sample.
  void add(double x);

  /// The number of samples.
  std::uint64_t count() const noexcept { return levels_.empty() ? 0 : levels_[0].count; }
  /// The mean of the samples; zero without any.
  double mean() const noexcept { return levels_.empty() ? 0 : levels_[0].mean; }
  /// Standard error of the mean as if the samples were independent.
  double naive_error() const noexcept { return error_of_level(0); }
  /// Standard error of the mean from the largest blocks of which there are at least 64 (so its own relative error is
  /// below 9 %). With fewer than 128 samples, the naive error. Zero with fewer than two samples.
  double error() const noexcept;
  /// That of this series alone, as below.
  double autocorrelation_time() const noexcept;
  /// Standard error of the mean from blocks of 2^level samples; zero with fewer than two blocks.
  double error_of_level(std::size_t level) const noexcept;
  /// The state, for checkpoints.
  void save(number_writer& to) const;
  /// Continues from a saved state.
  void load(number_reader& from);

 private:
  friend double autocorrelation_time(std::span<const binning> series) noexcept;
  struct level {
    std::uint64_t count = 0;
    double mean = 0, square = 0;  // of deviations from the mean (Welford)
    double pending = 0;           // the first of two samples of which the next level gets the mean
  };
  std::size_t error_level() const noexcept;
  std::vector<level> levels_;
};

/// Sum of the normalized autocorrelations over all positive distances, in samples, of several series of one quantity
/// together: error^2 = (1 + 2 tau) naive_error^2. Zero for independent samples and without samples.
///
/// Blocks of B samples have 1 + 2 tau(B) = B variance(B) / variance(1), whose error is of order 1 / B: 2 tau(2 B) -
/// tau(B) has none, for the smallest B above 4 tau. With 60 tau samples in all it is within 10 % on average; its
/// standard error is 25 % with 1000 tau samples.
double autocorrelation_time(std::span<const binning> series) noexcept;

namespace detail {
/// Rows 0 ... n-1: the mean without bin i; row n: the mean of all. Shapes: bins [n][m], weights [n].
std::vector<std::vector<double>> leave_one_out(std::span<const std::vector<double>> bins,
                                               std::span<const double> weights);
/// Bias-corrected values and errors of n + 1 results of a function on these rows.
std::vector<estimate> jackknife_estimates(const std::vector<std::vector<double>>& results);
}  // namespace detail

/// Values and errors of f(means), where `bins` are independent samples of the means. The bias of order 1/n is
/// subtracted. Source: Efron (1982).
///
/// Shapes: bins [n][m]; f takes a span of m numbers and returns a vector of any fixed length.
///
/// Requires: n >= 2, bins of equal length; weights (counts of samples per bin) positive, or empty: all equal.
template <class F>
std::vector<estimate> jackknife(std::span<const std::vector<double>> bins, F&& f,
                                std::span<const double> weights = {}) {
  std::vector<std::vector<double>> results;
  for (const auto& row : detail::leave_one_out(bins, weights)) results.push_back(f(std::span<const double>(row)));
  return detail::jackknife_estimates(results);
}

/// The limit a of a + b / n^2 through the last two values; its error is the distance from the limit of the two before,
/// or from the last value if there are but two. One value: itself, with an infinite error.
/// Shapes: n and values [runs]. Requires: n ascending, at least one.
estimate extrapolated(std::span<const int> n, std::span<const double> values);

}  // namespace plx
