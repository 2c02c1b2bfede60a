// The domain of a mesh: its extent, root grid, boundary conditions and block size, and the options that define them;
// the locations of blocks in it, the 26 directions around one, and the space-filling curve.
//
// Thread safety: values. Cost: negligible.
// Example: mesh/tree/test/domain_test.cpp, mesh/tree/test/location_test.cpp
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx {
class config_table;
}

namespace plx::mesh {

// ---- logical locations of blocks

/// The deepest level a block may have; the root grid is level 0. 21 bits per axis fill one 64-bit Morton key.
inline constexpr int deepest_level = 21;

/// A block of the octree: block x of the grid that covers the whole domain with root_blocks * 2^level blocks. Nodes
/// above the root grid have negative levels (mesh/tree/tree.hpp).
struct location {
  std::int32_t level = 0;
  std::array<std::int32_t, 3> x{};

  friend bool operator==(const location&, const location&) = default;
};

inline location parent_of(const location& l) { return {l.level - 1, {l.x[0] >> 1, l.x[1] >> 1, l.x[2] >> 1}}; }

/// Child 0..7: bit a of `index` is the half along axis a.
inline location child_of(const location& l, int index) {
  return {l.level + 1, {2 * l.x[0] + (index & 1), 2 * l.x[1] + ((index >> 1) & 1), 2 * l.x[2] + (index >> 2)}};
}

/// Index of this child in its parent, 0..7.
inline int child_index(const location& l) { return (l.x[0] & 1) | (l.x[1] & 1) << 1 | (l.x[2] & 1) << 2; }

/// Directions around a block are numbered 0..26 with x fastest; 13 is the block itself.
inline constexpr int direction_count = 27;
inline constexpr int self_direction = 13;
constexpr int direction_index(int dx, int dy, int dz) { return (dz + 1) * 9 + (dy + 1) * 3 + (dx + 1); }
constexpr std::array<int, 3> direction_of(int index) { return {index % 3 - 1, index / 3 % 3 - 1, index / 9 - 1}; }

/// Faces are numbered 0..5: 2 * axis + (0 lower | 1 upper).
inline constexpr int face_count = 6;
constexpr int face_axis(int face) { return face / 2; }
constexpr bool face_is_upper(int face) { return face % 2 != 0; }
constexpr int opposite_face(int face) { return face ^ 1; }
constexpr int face_direction(int face) {
  constexpr int stride[3] = {1, 3, 9};
  return self_direction + (face_is_upper(face) ? 1 : -1) * stride[face_axis(face)];
}

/// The six directions across faces, as bits.
constexpr std::uint32_t face_directions() {
  std::uint32_t mask = 0;
  for (int f = 0; f < face_count; ++f) mask |= 1u << face_direction(f);
  return mask;
}

/// Position of a location's lower corner on the curve: trees in the order of their own Morton keys, Morton order inside
/// a tree. Two leaves of one mesh never have the same key; the key of a location equals that of its first child.
struct curve_key {
  std::uint64_t tree = 0;
  std::uint64_t inside = 0;

  friend auto operator<=>(const curve_key&, const curve_key&) = default;
};

/// Interleaves the lowest 21 bits of each coordinate, x lowest.
inline std::uint64_t morton(const std::array<std::int32_t, 3>& x) {
  const auto spread = [](std::int32_t coordinate) {  // with two zero bits between each
    std::uint64_t v = static_cast<std::uint64_t>(coordinate) & 0x1fffff;
    v = (v | v << 32) & 0x001f00000000ffff;
    v = (v | v << 16) & 0x001f0000ff0000ff;
    v = (v | v << 8) & 0x100f00f00f00f00f;
    v = (v | v << 4) & 0x10c30c30c30c30c3;
    return (v | v << 2) & 0x1249249249249249;
  };
  return spread(x[0]) | spread(x[1]) << 1 | spread(x[2]) << 2;
}

inline curve_key key_of(const location& l) {
  std::array<std::int32_t, 3> tree{}, corner{};
  const int below = deepest_level - l.level;
  for (int a = 0; a < 3; ++a) {
    tree[a] = l.x[a] >> l.level;
    corner[a] = (l.x[a] - (tree[a] << l.level)) << below;
  }
  return {morton(tree), morton(corner)};
}

/// Ghost layers around a block in a tile.
inline constexpr int ghosts = 3;

/// The condition at a boundary of the domain.
enum class boundary : std::uint8_t {
  periodic,       ///< connected to the opposite boundary
  outflow,        ///< zero gradient; normal components of vectors are turned outward, so nothing flows in
  reflecting,     ///< mirror image, normal components of vectors change sign
  inflow,         ///< fixed value per variable (boundary_values)
  zero_gradient,  ///< the last cells, unchanged: gas can flow in as it flows there
  problem,        ///< boundary_values::outside at the time of a stage; zero_gradient where no time is given
};

/// The slope limiter of prolongation. Both keep the mean of the eight cells, and stay between the coarse cell and its
/// neighbours, so positive values stay positive.
enum class limiter : std::uint8_t {
  minmod,   ///< the smaller of the one-sided slopes
  central,  ///< monotonized central slope (sharper), scaled back where a child would leave the neighbours' range
};

/// A valid domain; made by mesh_options::make_domain(), or directly in tests (then call check()).
struct domain {
  int block_size = 8;                          ///< cells along a block's edge, even, 6..64
  std::array<int, 3> root_blocks{1, 1, 1};     ///< blocks of level 0 along each axis
  int max_level = 0;                           ///< deepest level a block may have, 0..21
  std::array<double, 3> lower{0.0, 0.0, 0.0};  ///< code units
  std::array<double, 3> upper{1.0, 1.0, 1.0};  ///< code units
  std::array<boundary, face_count> sides{};    ///< by face: x lower, x upper, y lower, ...
  limiter prolongation = limiter::minmod;

  /// Errors: one line about the first invalid property.
  result<void> check() const;

  bool is_periodic(int axis) const { return sides[2 * axis] == boundary::periodic; }
  std::int64_t blocks_along(int axis, int level) const { return std::int64_t{root_blocks[axis]} << level; }

  /// Width of a cell at a level. Cells are cubes: equal along each axis, halved exactly from level to level.
  double cell_width(int level) const;

  /// Coordinate of half-cell `half` of a level along an axis: 0 is the lower boundary, 2 * i + 1 the centre of cell i
  /// of the whole domain. Symmetric: in a domain with lower = -upper, mirrored points have exactly opposite
  /// coordinates.
  double coordinate(int axis, int level, std::int64_t half) const;
};

/// Options [mesh] of an input.
struct mesh_options {
  std::int64_t block_size = 8;
  std::array<std::int64_t, 3> root_blocks{1, 1, 1};
  std::int64_t max_level = 0;
  std::array<double, 3> lower{0.0, 0.0, 0.0};
  std::array<double, 3> upper{1.0, 1.0, 1.0};
  std::array<std::string, 6> sides{"outflow", "outflow", "outflow", "outflow", "outflow", "outflow"};
  std::string prolongation = "minmod";

  void describe(config_table& table);
  /// The domain. Errors: one line about the first invalid option.
  result<domain> make_domain() const;
};

/// The state outside of boundaries of the kind `problem`, as a function of place and time.
class outside_state {
 public:
  virtual ~outside_state() = default;
  /// Sets the variables u[v] at the point x beyond a face; false if the boundary is a reflecting wall there. Any
  /// thread.
  virtual bool at(int face, const std::array<double, 3>& x, double time, double* u) const = 0;
};

/// The input of boundaries: inflow[face][variable] at inflow boundaries, empty for others; `outside` for those of the
/// kind `problem`.
struct boundary_values {
  std::array<std::vector<double>, face_count> inflow;
  std::shared_ptr<const outside_state> outside;
};

}  // namespace plx::mesh
