#include "mesh/tree/location.hpp"

namespace plx::mesh {

namespace {

// Spreads 21 bits with two zero bits between each.
std::uint64_t spread(std::uint64_t v) {
  v &= 0x1fffff;
  v = (v | v << 32) & 0x001f00000000ffff;
  v = (v | v << 16) & 0x001f0000ff0000ff;
  v = (v | v << 8) & 0x100f00f00f00f00f;
  v = (v | v << 4) & 0x10c30c30c30c30c3;
  return (v | v << 2) & 0x1249249249249249;
}

}  // namespace

std::uint64_t morton(const std::array<std::int32_t, 3>& x) {
  const auto bits = [](std::int32_t v) { return spread(static_cast<std::uint64_t>(v)); };
  return bits(x[0]) | bits(x[1]) << 1 | bits(x[2]) << 2;
}

curve_key key_of(const location& l) {
  std::array<std::int32_t, 3> tree{}, corner{};
  const int below = deepest_level - l.level;
  for (int a = 0; a < 3; ++a) {
    tree[a] = l.x[a] >> l.level;
    corner[a] = (l.x[a] - (tree[a] << l.level)) << below;
  }
  return {morton(tree), morton(corner)};
}

}  // namespace plx::mesh
