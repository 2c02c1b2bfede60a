#include "num/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "num/saved_numbers.hpp"

namespace plx {

void binning::add(double x) {
  for (std::size_t l = 0;; ++l) {
    if (l == levels_.size()) levels_.emplace_back();
    level& at = levels_[l];
    ++at.count;
    const double deviation = x - at.mean;
    at.mean += deviation / static_cast<double>(at.count);
    at.square += deviation * (x - at.mean);
    if (at.count % 2 != 0) {
      at.pending = x;
      return;
    }
    x = 0.5 * (at.pending + x);
  }
}

double binning::error_of_level(std::size_t l) const noexcept {
  if (l >= levels_.size() || levels_[l].count < 2) return 0;
  const auto n = static_cast<double>(levels_[l].count);
  return std::sqrt(levels_[l].square / (n * (n - 1)));
}

std::size_t binning::error_level() const noexcept {
  std::size_t l = 0;
  while (l + 1 < levels_.size() && levels_[l + 1].count >= 64) ++l;
  return l;
}

double binning::error() const noexcept { return error_of_level(error_level()); }

double binning::autocorrelation_time() const noexcept { return plx::autocorrelation_time(std::span(this, 1)); }

double autocorrelation_time(std::span<const binning> series) noexcept {
  // 1 + 2 tau(B) of blocks of all series, around their common mean; negative with too few blocks.
  double variance = 0;  // of samples
  const auto ratio_of = [&](std::size_t l) {
    constexpr double fewest = 8;
    double count = 0, mean = 0, square = 0;
    for (const binning& b : series)
      if (l < b.levels_.size()) {
        count += static_cast<double>(b.levels_[l].count);
        mean += static_cast<double>(b.levels_[l].count) * b.levels_[l].mean;
      }
    if (count < fewest) return -1.0;
    mean /= count;
    for (const binning& b : series)
      if (l < b.levels_.size()) {
        const double off = b.levels_[l].mean - mean;
        square += b.levels_[l].square + static_cast<double>(b.levels_[l].count) * off * off;
      }
    if (l == 0) variance = square / (count - 1);
    return variance > 0 ? std::ldexp(square / (count - 1) / variance, static_cast<int>(l)) : 1.0;
  };
  double tau = 0, before = ratio_of(0);
  for (std::size_t l = 0; before >= 0; ++l) {
    const double next = ratio_of(l + 1);
    if (next < 0) break;
    tau = std::max(0.0, 0.5 * (2 * next - before - 1));
    if (std::ldexp(1.0, static_cast<int>(l)) >= 4 * tau) break;
    before = next;
  }
  return tau;
}

void binning::save(number_writer& to) const {
  to.add(static_cast<double>(levels_.size()));
  for (const level& l : levels_)
    for (double x : {static_cast<double>(l.count), l.mean, l.square, l.pending}) to.add(x);
}

void binning::load(number_reader& from) {
  levels_.resize(std::min(from.integer<std::size_t>(), std::size_t{64}));
  for (level& l : levels_) {
    l.count = from.integer<std::uint64_t>();
    l.mean = from.number();
    l.square = from.number();
    l.pending = from.number();
  }
}

namespace detail {

std::vector<std::vector<double>> leave_one_out(std::span<const std::vector<double>> bins,
                                               std::span<const double> weights) {
  const std::size_t n = bins.size();
  PLX_ASSERT(n >= 2, n);
  PLX_ASSERT(weights.empty() || weights.size() == n, weights.size(), n);
  const std::size_t m = bins[0].size();
  std::vector<std::vector<double>> rows(n + 1, std::vector<double>(m, 0.0));
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    PLX_ASSERT_EQ(bins[i].size(), m);
    const double w = weights.empty() ? 1 : weights[i];
    PLX_ASSERT(w > 0, w, i);
    total += w;
    for (std::size_t j = 0; j < m; ++j) rows[n][j] += w * bins[i][j];
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double w = weights.empty() ? 1 : weights[i];
    for (std::size_t j = 0; j < m; ++j) rows[i][j] = (rows[n][j] - w * bins[i][j]) / (total - w);
  }
  for (double& x : rows[n]) x /= total;
  return rows;
}

std::vector<estimate> jackknife_estimates(const std::vector<std::vector<double>>& results) {
  const std::size_t n = results.size() - 1;
  const auto count = static_cast<double>(n);
  std::vector<estimate> out(results[n].size());
  for (std::size_t j = 0; j < out.size(); ++j) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < n; ++i) {
      PLX_ASSERT_EQ(results[i].size(), out.size());
      mean += results[i][j] / count;
    }
    for (std::size_t i = 0; i < n; ++i) square += (results[i][j] - mean) * (results[i][j] - mean);
    out[j] = {count * results[n][j] - (count - 1) * mean, std::sqrt((count - 1) / count * square)};
  }
  return out;
}

}  // namespace detail

estimate extrapolated(std::span<const int> n, std::span<const double> values) {
  PLX_ASSERT(n.size() == values.size() && !n.empty(), n.size(), values.size());
  const auto limit = [&](std::size_t i) {  // of the values i - 1 and i
    const double a = double(n[i - 1]) * n[i - 1], b = double(n[i]) * n[i];
    return (b * values[i] - a * values[i - 1]) / (b - a);
  };
  const std::size_t last = n.size() - 1;
  if (last == 0) return {values[0], HUGE_VAL};
  const double at = limit(last);
  return {at, std::abs(at - (last == 1 ? values[last] : limit(last - 1)))};
}

}  // namespace plx
