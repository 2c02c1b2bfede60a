// Finds the stars in the gas: their masses, centres of mass, velocities, and the shapes that contain their cells.
//
// Thread safety: all localities call star_finder, each in a task; shapes are const. Cost: a pass over all cells per
// iteration, of which some five are needed. Results are the same for any number of workers and localities. Errors:
// locality_lost, thrown.
// Example: star/diagnostics/test/star_diagnostics_test.cpp, star/diagnostics/test/star_shapes_test.cpp
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "num/running_sum.hpp"
#include "star/driver/options.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

class gravity_field;
struct gas;

// ---- sums and largest values over the cells of all blocks, in the same bits for any number of workers and localities:
// compensated within a block, exact between blocks

/// Sums of a block, and largest values.
class block_sums {
 public:
  block_sums(std::size_t sums, std::size_t largest)
      : sums_(sums), largest_(largest, -std::numeric_limits<double>::infinity()) {}

  void add(std::size_t i, double value) { sums_[i].add(value); }
  void add_vector(std::size_t i, const vector& v) {
    for (std::size_t a = 0; a < 3; ++a) add(i + a, v[a]);
  }
  void raise(std::size_t i, double value) {
    if (value > largest_[i]) largest_[i] = value;
  }
  double sum(std::size_t i) const { return sums_[i].value(); }
  double largest(std::size_t i) const { return largest_[i]; }

 private:
  std::vector<running_sum> sums_;
  std::vector<double> largest_;
};

struct cell_sums {
  std::vector<double> sums, largest;  ///< the largest of no value: -infinity
};

/// Calls of_block(slot, block_sums&) for each local block. Collective, in a task; errors: locality_lost, thrown.
/// Cost: that of the function, and an exact sum per sum and block.
cell_sums sum_over_cells(const gas& g, unsigned workers, std::size_t sums, std::size_t largest,
                         void (*of_block)(const void* data, mesh::slot_id slot, block_sums& to), const void* data);
template <class F>
cell_sums sum_over_cells(const gas& g, unsigned workers, std::size_t sums, std::size_t largest, const F& of_block) {
  return sum_over_cells(
      g, workers, sums, largest,
      [](const void* f, mesh::slot_id slot, block_sums& to) { (*static_cast<const F*>(f))(slot, to); }, &of_block);
}

/// Calls f(cell, its centre) for the cells of a block.
template <class F>
void for_each_cell(const mesh::block_mesh& m, mesh::slot_id slot, F&& f) {
  const int n = m.block_size();
  std::vector<double> along[3];
  for (int axis = 0; axis < 3; ++axis)
    for (int i = 0; i < n; ++i) along[axis].push_back(m.centre(slot, axis, i));
  int cell = 0;
  for (const double z : along[2])
    for (const double y : along[1])
      for (const double x : along[0]) f(cell++, vector{x, y, z});
}

// ---- vectors

inline vector operator+(const vector& a, const vector& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline vector operator-(const vector& a, const vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline vector operator*(double s, const vector& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const vector& a, const vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline vector cross(const vector& a, const vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double norm(const vector& a) { return std::sqrt(dot(a, a)); }
/// Turned by an angle about the z axis.
inline vector turned(const vector& a, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {c * a[0] - s * a[1], s * a[0] + c * a[1], a[2]};
}

// ---- which cells belong to which star
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
// Cost: O(stars) per cell. Source: Marcello et al. (2021), section 2, for the directions of the effective gravity;
// Eggleton (1983), Astrophys. J. 268, 368, for the Roche radius.

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

// ---- finding them

struct found_stars {
  std::vector<star_state> stars;
  star_shapes shapes;  ///< `stars` are the sums over the cells of these
};

class star_finder {
 public:
  /// Requires: all arguments outlive it; the field is that of the gas.
  star_finder(const gas& g, const gravity_field& field, const diagnostics_options& o, unsigned workers)
      : g_(g), field_(field), o_(o), workers_(workers) {}

  /// From nothing: begins with the centres of mass of the species of each star, if all stars have species, and
  /// otherwise with the densest cells between which gravity changes its direction. Without species, star 1 is the one
  /// with the largest mass, and so on. `star_of_species`: as in problem.
  found_stars from_nothing(std::span<const int> star_of_species) const;
  /// From estimates of centres, velocities and masses.
  found_stars near(std::vector<star_state> guess) const;

 private:
  std::vector<star_state> species(std::span<const int> star_of_species) const;
  std::vector<star_state> peaks() const;
  std::vector<star_state> sums_of(const star_shapes& shapes, std::size_t stars) const;

  const gas& g_;
  const gravity_field& field_;
  const diagnostics_options& o_;
  unsigned workers_;
};

}  // namespace plx::star
