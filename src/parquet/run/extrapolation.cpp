#include "parquet/run/extrapolation.hpp"

#include <cmath>

#include "base/assert.hpp"

namespace plx::parquet {

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

}  // namespace plx::parquet
