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

}  // namespace plx::mesh
