// Finds the stars in the gas: their masses, centres of mass, velocities, and the shapes that contain their cells.
//
// Thread safety: all localities call these, each in a task. Cost: a pass over all cells per iteration, of which some
// five are needed. Results are the same for any number of workers and localities. Errors: locality_lost, thrown.
// Example: star/diagnostics/test/star_diagnostics_test.cpp
#pragma once

#include <span>
#include <vector>

#include "star/diagnostics/star_shapes.hpp"
#include "star/runners/gravity_field.hpp"

namespace plx::star {

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
