#include "mesh/tree/curve_cut.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace plx::mesh {

std::vector<std::int32_t> cut_curve(std::span<const double> cost_s, int parts) {
  PLX_ASSERT(parts >= 1, parts);
  const auto blocks = static_cast<std::int32_t>(cost_s.size());
  double total = 0.0;
  for (const double c : cost_s) {
    PLX_ASSERT(c >= 0.0, c);
    total += c;
  }
  std::vector<std::int32_t> owner(cost_s.size());
  double before = 0.0;
  for (std::int32_t p = 0; p < blocks; ++p) {
    const double middle = total > 0.0 ? (before + 0.5 * cost_s[p]) / total : (p + 0.5) / blocks;
    owner[p] = std::min(static_cast<std::int32_t>(middle * parts), parts - 1);
    before += cost_s[p];
  }
  // Keeps a block for each part: part q begins at block q or later and leaves at least parts - 1 - q blocks after it.
  for (std::int32_t p = 0; p < blocks; ++p) {
    const std::int32_t last = p > 0 ? owner[p - 1] : -1;
    const std::int32_t least = std::max(last, parts - (blocks - p));
    owner[p] = std::clamp(owner[p], std::max(least, 0), std::max(last + 1, 0));
  }
  return owner;
}

}  // namespace plx::mesh
