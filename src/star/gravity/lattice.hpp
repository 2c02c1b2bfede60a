// The geometry of the fast multipole method on the octree: which cells interact at which level, and the derivatives of
// 1/r at the vectors between them. Cells of one level form a lattice, so these are tables of constants.
//
// Two cells of a level are separated if the distance of their centres, in cells, is at least 1 / theta. They interact
// by their expansions at the first level at which they are separated. Cells of blocks that are not separated at their
// own level interact directly.
//
// A pair at the distance d needs fewer terms than the closest one for the same error: its order is the lowest p >= 3
// with (1/d)^p <= (1/d0)^order, where d0^2 is 1 / theta^2, rounded up.
//
// Thread safety: values. Cost: construction takes some ms.
// Example: star/gravity/test/lattice_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/result.hpp"

namespace plx::star::gravity {

// ---- Multi-indices (x, y, z) of polynomials and derivatives of harmonic functions in three variables.
//
// A second derivative of a harmonic function along z is minus the sum of those along x and y. So it has 2 d + 1
// independent derivatives of degree d, those with z <= 1. These have the lowest numbers. Products of two of them need z
// = 2 too.
//
// Cost: none at run time.

struct multi_index {
  int x = 0, y = 0, z = 0;

  constexpr int degree() const { return x + y + z; }
  constexpr multi_index operator+(const multi_index& o) const { return {x + o.x, y + o.y, z + o.z}; }
  constexpr multi_index plus(int axis) const { return {x + (axis == 0), y + (axis == 1), z + (axis == 2)}; }
};

/// Number of independent multi-indices, and of those with z = 2, of at most a degree.
constexpr int count_up_to(int degree) { return (degree + 1) * (degree + 1); }
constexpr int dependent_up_to(int degree) { return degree * (degree - 1) / 2; }

/// Number of an independent multi-index: ascending degree, z, y.
constexpr int number_of(const multi_index& i) {
  const int d = i.degree();
  return d * d + (i.z == 0 ? i.y : d + 1 + i.y);
}
/// The same in arrays that hold all with z <= 2 up to `degree`: those with z = 2 follow the independent ones.
constexpr int number_among(const multi_index& i, int degree) {
  return i.z < 2 ? number_of(i) : count_up_to(degree) + dependent_up_to(i.degree() - 1) + i.y;
}

/// The multi-indices with z <= 1, or z <= 2, up to a degree, by number.
template <int degree, int largest_z = 1>
constexpr auto indices_up_to() {
  constexpr int count = count_up_to(degree) + (largest_z == 2 ? dependent_up_to(degree) : 0);
  std::array<multi_index, static_cast<std::size_t>(count)> all{};
  for (int d = 0; d <= degree; ++d)
    for (int z = 0; z <= largest_z && z <= d; ++z)
      for (int y = 0; y <= d - z; ++y) {
        const multi_index i{d - y - z, y, z};
        all[static_cast<std::size_t>(number_among(i, degree))] = i;
      }
  return all;
}

/// The order p of expansions: potentials are exact to the power p of the distance from the centre, forces to p - 1.
inline constexpr int least_order = 3, largest_order = 6;

/// The kinds of partners of a cell. Each has a list per row and, for `far`, per order.
enum class partners : int {
  finer,    ///< a cell of the same level that is not separated: eight point masses
  coarser,  ///< a cell one level coarser that is not separated from the parent: a point mass
  direct,   ///< a cell of the same level, whose parent is not separated: a point mass
  far       ///< a cell of the same level, separated, whose parent is not: a multipole expansion
};
inline constexpr int list_count = 4 * (3 + largest_order - least_order + 1);
inline constexpr int most_entries = 512;  ///< of a list

/// The partners of the cells of a row along x. They depend on whether the cell's index is even or odd along each axis:
/// rows have four lists, and an entry has constants for even and for odd x.
/// An entry of direct or far partners is a group: a cell and its mirror images along the axes of a mask (bit a: axis
/// a). Derivatives at mirrored vectors differ in signs only, so sums and differences of the images are multiplied once.
/// Along the other axes, a group that holds +d for cells of even index holds -d for those of odd index. An entry of
/// finer or coarser partners is one cell; its constants are zero for cells that lack it. Memory: an array of doubles,
/// for devices too:
///   lists: position of the first entry, number of entries; see list_at()
///   entries: dx, dy, dz of the partner of cells with even x, in cells; mask; then pairs {even, odd} of constants
/// Constants, where X is the vector from the partner to the cell in cells, r = |X|:
///   direct, coarser: -1/r, then X/r^3
///   finer: the same for each of the eight children of the partner
///   far: D^a(-1/r), by number_among(a, order)
/// After the entries: child_powers(), see powers_at().
/// dx, dy, dz of a coarser partner: of its child with the same parity as the cell.
struct lattice_table {
  int order = 5;
  int opening = 9;  ///< 1 / theta^2, rounded up
  int reach = 5;    ///< largest |dx|, |dy|, |dz| of direct, coarser and far partners
  int near = 2;     ///< the same for finer
  std::vector<double> values;
};

/// s^k / k! folded to independent multi-indices (expansion.hpp), where s leads from a cell's centre to that of child c,
/// in cells: +1/4 along axis a if bit a of c is set, else -1/4. `opposite`: of -s. By number of the multi-index.
std::vector<double> child_powers(int order, int child, bool opposite);

constexpr int constants_of_far(int order) { return count_up_to(order) + dependent_up_to(order); }
constexpr int entry_doubles(int constants) { return 4 + 2 * constants; }

/// Position of a list in lattice_table::values. `row`: (y odd) + 2 (z odd). `order`: of far partners.
constexpr int list_at(partners kind, int row, int order = least_order) {
  return 2 * (4 * (static_cast<int>(kind) + order - least_order) + row);
}

/// Errors: theta or order out of range, or a reach larger than a block.
result<lattice_table> make_lattice(double theta, int order, int block_size);

/// Position of the position of a child's powers in lattice_table::values.
constexpr int powers_at(int child, bool opposite) { return 2 * list_count + 8 * (opposite ? 1 : 0) + child; }

/// Position of a 0 in lattice_table::values.
inline constexpr int zero_at = 2 * list_count + 16;

/// Derivatives of a function of r = |X| at X with z <= 2, by number_among(a, degree). f: the function, and what the
/// operator (1/r) d/dr gives when applied 1, 2, ..., degree times. Requires: degree <= largest_order.
/// Source: recurrence of McMurchie & Davidson (1978), J. Comp. Phys. 26, 218.
std::vector<double> derivatives_of_radial(const double (&x)[3], const std::vector<double>& f);
/// The same of 1/r. Requires: X is not zero.
std::vector<double> derivatives_of_inverse(const double (&x)[3], int degree);

}  // namespace plx::star::gravity
