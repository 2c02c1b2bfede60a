// Stars in equilibrium, one that rotates or two in orbit: the potential on an octree, and the constants with which
// density and pressure follow from it at any point.
//
// Thread safety: const; any thread. Cost: at() about 1 us. Memory: 4 doubles per cell of the mesh of the model.
// Example: star/models/test/self_consistent_test.cpp
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "star/models/matter.hpp"
#include "star/models/tree_field.hpp"

namespace plx::star::models {

using point = std::array<double, 3>;

/// One star. Inside, the enthalpy is
///   H = constant - phi + omega^2 (x^2 + y^2) / 2 + pull . (x - place)       that rotates with the orbit
///   H = constant - phi + omega^2 place . (x, y, 0) + pull . (x - place)     that does not rotate
struct star {
  matter gas;
  double mass = 0.0;  ///< that was requested, and that is there
  point place{};      ///< where its centre of mass should be
  point pull{};       ///< an acceleration that keeps it there; zero but for the errors of the mesh
  double constant = 0.0;
  // The region in which H belongs to this star:
  double side = 0.0;   ///< x between the stars: the largest effective potential on the line of their centres
  double reach = 0.0;  ///< distance from `place` of the largest effective potential on the outer side
  // Findings:
  point centre{};  ///< of mass
  double central_density = 0.0;
  double radius = 0.0;                           ///< of a sphere of its volume
  double inner = 0.0, outer = 0.0, polar = 0.0;  ///< distances from `place` to the surface towards the other star,
                                                 ///< away from it, and along z
  double filling = 0.0;                          ///< inner over the distance to `side`; 0 for a single star
};

/// One iteration: the state at its beginning, and what it has found.
struct iteration {
  int number = 0, level = 0;  ///< of the mesh
  double change = 0.0;        ///< sum of |change of density| over cells, over the mass
  double virial_error = 0.0;  ///< |2 T + 3 Pi + W| / |W|, W = sum of x . force, of the forces on this mesh
  double energy_error = 0.0;  ///< the same with the potential energy in place of W: differs by the error of the mesh
  double omega = 0.0, angular_momentum = 0.0, separation = 0.0;  ///< of the centres of mass
  /// By star. displacement: distance of the centre of mass from `place`; core_fraction: mass of the core over that of
  /// the star.
  std::array<double, 2> constant{}, central_density{}, polytrope_constant{}, displacement{}, core_fraction{};
};

struct model {
  std::unique_ptr<tree_field> field;
  std::vector<star> stars;  ///< one, at the origin; or two, the first at x > 0
  double gravity = 1.0, omega = 0.0;
  bool synchronous = true;  ///< the stars rotate with omega; otherwise they move without rotation
  double fillout = 0.0;     ///< of a common envelope (request::fillout); 0: each star has a surface of its own
  // Findings:
  double kinetic = 0.0, potential = 0.0, pressure = 0.0;  ///< T, potential energy, Pi = integral of p
  double angular_momentum = 0.0;                          ///< about z
  double virial_error = 0.0, energy_error = 0.0;          ///< as in iteration
  double neck_enthalpy = 0.0;                             ///< H at L1, of a common envelope
  std::array<double, 2> neck{};                           ///< distances of its surface from L1, along y and z
  std::vector<iteration> iterations;
  std::string verdict;  ///< why the iteration ended, one line

  double separation() const { return stars.size() < 2 ? 0.0 : stars[0].place[0] - stars[1].place[0]; }
  double mass() const;

  struct state {
    int star = -1;      ///< -1: outside
    double core = 0.0;  ///< the part of the density that is core
    double density = 0.0, pressure = 0.0;
  };
  state at(const point& x) const;
  /// The velocity of a gas at this point that belongs to a star, or to the atmosphere (-1), which rotates with the
  /// stars out to their orbit and less beyond.
  point velocity(const point& x, int star) const;

  /// Is the point in the region of this star?
  bool contains(int s, const point& x) const;
  /// The enthalpy less the constant, where the potential is phi.
  double depth(int s, const point& x, double phi) const;
};

/// The head and a line of the table of iterations.
std::string table_head(std::size_t stars);
std::string table_line(const iteration& i, std::size_t stars);
/// The iterations as a table, and the verdict, for people. One line each.
std::string table_of(const model& m);

// ---- A model in a file: HDF5 in the format of checkpoints (mesh/files/checkpoint.hpp), with the potential and its
// gradient as variables, and everything else as lists of numbers.
//
// Cost: the disk. Errors: those of checkpoints, or a file that holds no model, in one line.

/// `build`: the program; `options`: the input, as TOML; both for people. `identity`: read_model() returns it.
struct model_origin {
  std::string build, options, identity;
};

/// The file appears complete or not at all.
result<void> write_model(const std::string& path, const model& m, const model_origin& origin);

/// A model that evaluates to the same bits. `identity`, if given, receives that of the file.
result<model> read_model(const std::string& path, std::string* identity = nullptr);

}  // namespace plx::star::models
