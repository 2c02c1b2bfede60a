#include "mesh/tree/curve_parts.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace plx::mesh {

curve_parts::curve_parts(std::span<const std::int32_t> owner, int parts) {
  PLX_ASSERT(parts >= 1 && std::is_sorted(owner.begin(), owner.end()), parts);
  PLX_ASSERT(owner.empty() || (owner.front() >= 0 && owner.back() < parts), parts);
  for (int part = 0; part <= parts; ++part)
    begin_.push_back(static_cast<std::int32_t>(std::lower_bound(owner.begin(), owner.end(), part) - owner.begin()));
}

int curve_parts::part_of(int position) const {
  PLX_ASSERT(position >= 0 && position < begin_.back(), position, begin_.back());
  // The last part that begins at or before it: empty ones before it begin at the same position.
  return static_cast<int>(std::upper_bound(begin_.begin(), begin_.end(), position) - begin_.begin()) - 1;
}

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
