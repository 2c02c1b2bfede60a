// The domain of a mesh: its extent, root grid, boundary conditions and block size; and the options that define them.
//
// Thread safety: values. Cost: negligible.
// Example: mesh/tree/test/domain_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/location.hpp"

namespace plx {
class config_table;
}

namespace plx::mesh {

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

/// The quantities of a gas that the mesh must know to keep its internal energy positive
/// (mesh/between/family_limits.hpp).
enum class quantity : std::uint8_t {
  other,
  density,
  energy,  ///< total, per volume
};

/// A variable of a field set: the properties that the mesh needs.
struct variable {
  std::string name;
  /// 0..2: a vector's component along that axis; it changes sign at a reflecting boundary.
  int vector_axis = -1;
  /// Variables with the same share_limiter >= 0 get one common limiter in prolongation, which preserves linear
  /// relations between them (the partial densities of species sum to the density). -1: its own limiter.
  int share_limiter = -1;
  /// With a density and an energy, the three variables of vector_axis 0, 1, 2 in a row are the momentum.
  quantity kind = quantity::other;
  /// A component of an axial vector, such as an angular momentum: a reflecting boundary along another axis changes its
  /// sign.
  bool axial = false;

  bool changes_sign_at(int axis) const { return vector_axis >= 0 && (vector_axis == axis) != axial; }
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
