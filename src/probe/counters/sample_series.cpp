
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <system_error>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/counters/counter_printer.hpp"
#include "probe/counters/sample_series.hpp"

namespace plx::probe::detail {
namespace {

double median_of(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  if (v.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(v.begin(), middle));
}

double mean_of(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double stddev_of(const std::vector<double>& v) {
  const double mean = mean_of(v);
  double squares = 0;
  for (const double x : v) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / static_cast<double>(v.size()));
}

}  // namespace

void sample_series::keep_last(std::size_t n) {
  const std::lock_guard lock(mutex_);
  if (n <= last_.size()) return;
  std::vector<double> larger(n);
  // The samples still in the smaller ring; without one, the newest sample.
  const std::uint64_t known = n_ - std::max(ring_from_, n_ - std::min<std::uint64_t>(n_, last_.size()));
  for (std::uint64_t i = n_ - known; i < n_; ++i) larger[i % n] = last_[i % last_.size()];
  if (known == 0 && n_ > 0) larger[(n_ - 1) % n] = value_before_;
  ring_from_ = known == 0 && n_ > 0 ? n_ - 1 : n_ - known;
  last_ = std::move(larger);
}

void sample_series::sample() {
  const auto v = source_.read();
  if (v && std::isfinite(*v)) return add(*v, seconds(now_ticks()));
  const std::lock_guard lock(mutex_);
  problem_ = v ? fmt::format("'{}' is {}", source_.about().name, *v) : v.error().message;
}

void sample_series::add(double value, double time_s) {
  const std::lock_guard lock(mutex_);
  problem_.clear();
  if (n_ > 0 && time_s > time_before_) {
    const bool began_anew = source_ && source_.about().monotonic && value < value_before_;
    rate_ = (began_anew ? value : value - value_before_) / (time_s - time_before_);
  }
  value_before_ = value;
  time_before_ = time_s;
  least_ = n_ == 0 ? value : std::min(least_, value);
  greatest_ = n_ == 0 ? value : std::max(greatest_, value);
  if (!last_.empty()) last_[n_ % last_.size()] = value;
  ++n_;
  const double step = value - mean_;
  mean_ += step / static_cast<double>(n_);
  squares_ += step * (value - mean_);
  if (kept_.size() < most_kept) return kept_.push_back(value);
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  if (const std::uint64_t at = random_ % n_; at < most_kept) kept_[at] = value;
}

void sample_series::reset() {
  const std::lock_guard lock(mutex_);
  n_ = ring_from_ = 0;
  mean_ = squares_ = rate_ = 0;
  kept_.clear();
}

double sample_series::value(std::string_view statistic, std::size_t window) const {
  constexpr std::string_view rolling = "rolling_";
  const std::lock_guard lock(mutex_);
  if (statistic == "count") return static_cast<double>(n_);
  if (n_ == 0) throw std::runtime_error(problem_.empty() ? "no sample has been taken yet" : problem_);
  return statistic.starts_with(rolling) ? over_last(statistic.substr(rolling.size()), window) : over_all(statistic);
}

double sample_series::over_all(std::string_view statistic) const {
  if (statistic == "average") return mean_;
  if (statistic == "stddev") return std::sqrt(std::max(0.0, squares_ / static_cast<double>(n_)));
  if (statistic == "median") return median_of(kept_);
  if (statistic == "min") return least_;
  if (statistic == "max") return greatest_;
  PLX_ASSERT(statistic == "rate", statistic);
  return rate_;
}

double sample_series::over_last(std::string_view statistic, std::size_t window) const {
  PLX_ASSERT(window > 0 && window <= last_.size());
  std::vector<double> v;
  const std::uint64_t first = std::max(ring_from_, n_ - std::min<std::uint64_t>(n_, window));
  for (std::uint64_t i = first; i < n_; ++i) v.push_back(last_[i % last_.size()]);
  if (statistic == "average") return mean_of(v);
  if (statistic == "stddev") return stddev_of(v);
  if (statistic == "median") return median_of(std::move(v));
  if (statistic == "min") return *std::min_element(v.begin(), v.end());
  PLX_ASSERT(statistic == "max", statistic);
  return *std::max_element(v.begin(), v.end());
}

}  // namespace plx::probe::detail

namespace plx::probe {

counter_sampler::counter_sampler(recorder& r, counter_registry& counters, std::vector<std::string> patterns,
                                 std::string path)
    : recorder_(r),
      counters_(counters),
      patterns_(std::move(patterns)),
      path_(std::move(path)),
      begin_s_(monotonic_seconds()) {
  std::error_code ignored;  // reported when the file is written
  std::filesystem::remove(path_, ignored);
  for (const std::string& pattern : patterns_) (void)counters_.list(pattern);
}

result<void> counter_sampler::write(const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  return append_file(path_, counters_csv_header, text);
}

result<void> counter_sampler::sample() {
  result<void> first;
  std::string text;
  const double time_s = monotonic_seconds() - begin_s_;
  for (const std::string& pattern : patterns_) {
    const auto values = counters_.query(pattern);
    if (!values) {
      if (first) first = values.error();
      continue;
    }
    text += counters_as_csv(*values, time_s);
    for (const counter_value& v : *values)
      if (v.problem.empty()) recorder_.trace_counter(v.name, v.value);
  }
  if (auto written = write(text); !written && first) first = written;
  if (!first && !said_) log_warning("{}", first.error().message);
  said_ |= !first;
  return first;
}

}  // namespace plx::probe
