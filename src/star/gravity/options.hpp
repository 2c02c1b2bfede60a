// Options of gravity, section [gravity] of an input, and the field of a point mass at a fixed place, which acts on the
// gas but which the gas does not move.
//
// Thread safety: values. Cost: a square root per evaluation of the field.
// Example: star/test/gravity_test.cpp, star/test/point_mass_test.cpp
#pragma once

#include <array>
#include <cstdint>

#include "star/hydro/parameters.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

/// The field of a point mass with Plummer's softening: phi = -G M / (r^2 + s^2)^(1/2).
struct point_mass {
  double strength = 0.0;  ///< G M, code units; 0: none
  double position[3] = {};
  double softening = 0.0;  ///< s

  /// Shapes: d: relative to the mass. Requires: r > 0 or softening > 0.
  PLX_DEVICE double potential(double dx, double dy, double dz) const {
    return -strength / __builtin_sqrt(dx * dx + dy * dy + dz * dz + softening * softening);
  }
  /// The acceleration is this times the vector from the mass.
  PLX_DEVICE double pull(double dx, double dy, double dz) const {
    const double r2 = dx * dx + dy * dy + dz * dz + softening * softening;
    return -strength / (r2 * __builtin_sqrt(r2));
  }
};

namespace gravity {

/// Self-gravity.
struct gravity_options {
  bool self = false;       ///< the gas attracts itself
  double constant = 0.0;   ///< G, code units; 0: that of [units], or 1 without
  double theta = 0.35;     ///< cells closer than 1/theta cells are not separated
  std::int64_t order = 5;  ///< of the expansions

  void describe(config_table& table);
};

/// The options gravity.point_mass...
struct point_mass_options {
  double mass = 0.0;  ///< 0: none
  std::array<double, 3> position{};
  double softening = 0.0;

  void describe(config_table& table);
};

}  // namespace gravity

}  // namespace plx::star
