// Models of stars in equilibrium by a self-consistent field: the potential of a density and the density in a potential
// in turn, until neither changes.
//
// An iteration solves for the potential on the octree (star/models/tree_field.hpp), takes omega from the attraction of
// the stars (or from the axis ratio of a single one), fits the constant of each star, or the K of its polytrope, to the
// mass, and sets the new density. Errors of the mesh would let the stars drift, since the force of a star on itself
// moves with it: a uniform acceleration, which vanishes with these errors, holds each centre of mass in its place.
// Coarse meshes come first: each level begins with the model of the one above.
//
// Thread safety: pure. On all workers if a task calls it, with the same bits on any number. Cost: 20 to 60 iterations
// on coarse levels, 10 to 20 on the finest; each about 1.3 solutions of self-gravity. Example:
// star/models/test/self_consistent_test.cpp
// Source: Hachisu (1986), ApJS 61, 479 and 62, 461; Even & Tohline (2009), ApJS 184, 248; Kadam et al. (2016), MNRAS
// 462, 2237.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/domain.hpp"
#include "star/gravity/options.hpp"
#include "star/models/model.hpp"

namespace plx::star::models {

struct star_request {
  matter gas;
  double mass = 1.0;
  /// In a binary, the distance of the surface from the centre of mass towards the other star over that of the point
  /// with the largest effective potential between the stars: 1 fills the Roche lobe. 0: the mass decides, for white
  /// dwarfs, and for a polytrope with the K of the other star.
  double filling = 0.0;
  /// The core of this star has no given mass; a common envelope decides.
  bool has_free_core() const { return gas.has_core() && gas.core_fraction == 0.0; }
};

struct request {
  std::string section = "binary";   ///< the keys of messages: section.key
  std::vector<star_request> stars;  ///< one or two
  // Two stars: one of these is positive.
  double separation = 0.0;        ///< of the centres of mass
  double angular_momentum = 0.0;  ///< of the orbit: m1 m2 / (m1 + m2) separation^2 omega
  double period = 0.0;            ///< of the orbit
  /// Above 0, the stars share one surface and one envelope: the effective potential of the surface is that of L1 plus
  /// this part of the difference to L2. Both have the same K and index of the envelope, and one of them a free core.
  /// Source: Lucy (1968), ApJ 151, 1123, for one surface and one K; Kadam et al. (2018), MNRAS 481, 3683, for cores.
  double fillout = 0.0;
  bool synchronous = true;
  // One star:
  double radius = 0.0;      ///< equatorial; of a white dwarf 0, the mass decides
  double axis_ratio = 1.0;  ///< polar over equatorial radius, used if omega is negative
  double omega = -1.0;

  gravity::gravity_options gravity;  ///< with its constant
  mesh::domain box;
  int level = 0;            ///< of the mesh in the stars, at most mesh::deepest_level
  double tolerance = 1e-6;  ///< of iteration::change
  double virial_goal = 1e-4;
  int most_iterations = 200;
};

/// Errors: one line: a request that cannot exist (a star larger than its Roche lobe, a mass for which the common
/// envelope has no core, a mass above that of
/// Chandrasekhar, a box smaller than the orbit, values that are not code units, a rotation beyond mass shedding), a
/// mesh that is too coarse, or no convergence.
result<model> solve(const request& q);

/// The checks of solve() that need no iteration.
result<void> check(const request& q);

/// Radius of a sphere with the volume of the Roche lobe, over the separation; q: mass of the star over the other one.
/// Source: Eggleton (1983), ApJ 268, 368.
double roche_radius(double q);

}  // namespace plx::star::models
