// The box that a mesh covers: its size, root grid, sides and block size; and the options they come from.
//
// Thread safety: values. Cost: none to speak of.
// Example: mesh/domain_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/location.hpp"

namespace plx {
class config_table;
}

namespace plx::mesh {

/// Ghost layers around a block in a tile.
inline constexpr int ghosts = 3;

/// What lies beyond a side of the domain.
enum class boundary : std::uint8_t {
  periodic,    ///< the opposite side
  outflow,     ///< zero gradient; normal components of vectors are turned outward, so nothing flows in
  reflecting,  ///< mirror image, normal components of vectors change sign
  inflow,      ///< fixed values per variable (boundary_values)
};

/// How coarse cells become fine ones. Both keep the mean of the eight, and stay between the coarse cell and its
/// neighbours, so what is positive stays positive.
enum class limiter : std::uint8_t {
  minmod,   ///< the smaller of the one-sided slopes
  central,  ///< monotonized central slope (sharper), scaled back where the corner would leave the neighbours' range
};

/// A variable of a field set, as far as the mesh needs to know it.
struct variable {
  std::string name;
  /// 0..2: a vector's component along that axis; it changes sign at a reflecting side.
  int vector_axis = -1;
  /// Variables with the same share_limiter >= 0 get one common limiter in prolongation, so a linear relation between
  /// them (the partial densities of species sum to the density) survives. -1: on its own.
  int share_limiter = -1;
};

/// A valid domain; made by mesh_options::make_domain(), or by hand in tests (then check() it).
struct domain {
  int block_size = 8;                          ///< cells along a block's edge, even, 6..64
  std::array<int, 3> root_blocks{1, 1, 1};     ///< blocks of level 0 along each axis
  int max_level = 0;                           ///< deepest level a block may have, 0..21
  std::array<double, 3> lower{0.0, 0.0, 0.0};  ///< code units
  std::array<double, 3> upper{1.0, 1.0, 1.0};  ///< code units
  std::array<boundary, face_count> sides{};    ///< by face: x lower, x upper, y lower, ...
  limiter prolongation = limiter::minmod;

  /// One line about the first thing that makes the mesh impossible.
  result<void> check() const;

  bool is_periodic(int axis) const { return sides[2 * axis] == boundary::periodic; }
  std::int64_t blocks_along(int axis, int level) const { return std::int64_t{root_blocks[axis]} << level; }

  /// Edge of a cell at a level. Cells are cubes: the same along each axis, halved exactly from level to level.
  double cell_width(int level) const;

  /// Coordinate of half-cell `half` of a level along an axis: 0 is the lower side, 2 * i + 1 the centre of cell i of
  /// the whole domain. Symmetric: in a domain with lower = -upper mirrored points get exactly opposite coordinates.
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
  /// The domain, or one line about what makes it impossible.
  result<domain> make_domain() const;
};

/// Fixed values at inflow sides: inflow[face][variable]; empty where the side is none.
struct boundary_values {
  std::array<std::vector<double>, face_count> inflow;
};

}  // namespace plx::mesh
