// Periodic boxes: the images of the gas in the other periods of an endless lattice of boxes. The potential is that of
// the density minus its mean rho_m, whose mean is zero:
//   phi(x) = -G sum m K(x - x'),   m: of the density minus its mean,
//   K(x) = sum over n of 1/|x + n L|, minus the potential of a uniform background    (Ewald 1921)
//
// The lists of partners (lattice.hpp) continue through the boundaries, up to the coarsest level of which the box is a
// whole number of cells wide, the top: there all cells of the box, and all their images, interact at once. The
// constants of a pair are derivatives of K without the images that are not separated at the top, which interact on
// finer levels. They depend on the vector between the cells only, so they are lists of far partners.
//
// K is not harmonic: its Laplacian is 4 pi / V, V the volume of the box. The lists have its harmonic part; the rest,
// (2 pi / 3 V) |a - b|^2 for a and b from the centres of their cells of the top, leaves for masses whose sum is zero
//   (2 pi / 3 V) (sum m |b|^2 - 2 a . sum m b)
// of sums over the whole box (bodies.hpp).
//
// Thread safety: pure. Cost: make_images() some 1 ms for each group of the list, 27 groups for a top of 4^3 cells.
// Example: star/gravity/test/images_test.cpp
#pragma once

#include <array>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/domain.hpp"
#include "star/gravity/lattice.hpp"

namespace plx::star::gravity {

/// Are the boundaries periodic along all axes? Errors: some are and others not, or one is reflecting: then the images
/// of the gas would attract it, but they are not those of a periodic box.
result<bool> is_periodic_box(const mesh::domain& box);

/// The top of a periodic box.
struct box_images {
  std::array<int, 3> cells{};  ///< of the top along each axis of the box
  int reach = 0;               ///< largest |dx|, |dy|, |dz| of the partners
  double width = 0.0;          ///< of a cell of the top, code units
  /// The partners of each cell of the top, its own images included: the lists `far` of lattice_table::order in the
  /// format of lattice_table::values. Others are empty.
  std::vector<double> values;
};

/// Requires: is_periodic_box(). Errors: root blocks whose numbers are no powers of two, or differ by more than a factor
/// of 8, or more than 128 groups of cells at the top, in one line.
result<box_images> make_images(const mesh::domain& box, const lattice_table& t);

/// Derivatives of the harmonic part of K at the offset `at` in a box of `cells`, without the images at an offset whose
/// square is less than `opening`, by number_among(a, degree). Lengths are in cells. Requires: degree <= largest_order.
/// Source: Ewald (1921), Ann. Phys. 369, 253.
std::vector<double> image_derivatives(const std::array<int, 3>& at, const std::array<int, 3>& cells, int opening,
                                      int degree);

}  // namespace plx::star::gravity
