// Which cells belong to which star.
//
// A cell belongs to a star if the effective gravity at the cell points towards the star, the cell is within some Roche
// radii of the star's centre, and its density is not that of the surroundings. If that is true of several stars, the
// cell belongs to the one whose direction is closest to that of the effective gravity. Close to the centre, within two
// cells, no direction is required.
//
// The effective gravity of a star is that in the frame of the pair that it forms with the star that limits its Roche
// lobe most: g - A + w x ((x - X) x w), with the pair's centre of mass X, its acceleration A and its angular velocity
// w.
//
// Thread safety: const. Cost: O(stars) per cell. Example: star/diagnostics/test/star_shapes_test.cpp
// Source: Marcello et al. (2021), section 2, for the directions of the effective gravity; Eggleton (1983), Astrophys.
// J. 268, 368, for the Roche radius.
#pragma once

#include <span>
#include <vector>

#include "star/diagnostics/options.hpp"
#include "star/diagnostics/vectors.hpp"

namespace plx::star {

/// The radius of a sphere of the volume of the Roche lobe over the separation. Accurate to 1 %. Requires: q > 0, the
/// mass of the star in the lobe over that of the other one.
double eggleton_radius(double q);

/// A star at one time. A mass of 0: it has no cells.
struct star_state {
  double mass = 0.0;
  double largest_density = 0.0;
  vector centre{}, velocity{}, acceleration{};

  bool exists() const { return mass > 0.0; }
};

/// The pair that a star forms with the one that limits its Roche lobe most.
struct star_pair {
  int partner = -1;           ///< -1: there is no other star
  double roche_radius = 0.0;  ///< infinite without a partner
  vector centre{}, acceleration{}, angular_velocity{};
};

/// The pair of a star. Requires: stars[s].exists().
star_pair pair_of(std::span<const star_state> stars, int s);

class star_shapes {
 public:
  star_shapes(std::span<const star_state> stars, const diagnostics_options& o);
  /// Without known masses: the effective gravity is gravity, and stars reach as far as the next centre.
  static star_shapes around_peaks(std::span<const star_state> stars, const diagnostics_options& o);

  /// The star of a cell, or -1. `g`: the acceleration of gravity; `width`: of the cell.
  int star_of(const vector& x, const vector& g, double density, double width) const;
  double roche_radius(int s) const { return shapes_[static_cast<std::size_t>(s)].pair.roche_radius; }

 private:
  struct shape {
    bool exists = false;
    vector centre{};
    double reach2 = 0.0, least_density = 0.0;
    star_pair pair;
  };
  star_shapes() = default;
  std::vector<shape> shapes_;
};

}  // namespace plx::star
