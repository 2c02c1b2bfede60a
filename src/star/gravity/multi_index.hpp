// Multi-indices (x, y, z) of polynomials and derivatives of harmonic functions in three variables.
//
// A second derivative of a harmonic function along z is minus the sum of those along x and y. So it has 2 d + 1
// independent derivatives of degree d, those with z <= 1. These have the lowest numbers. Products of two of them need z
// = 2 too.
//
// Thread safety: constants. Cost: none at run time.
// Example: star/gravity/test/lattice_test.cpp
#pragma once

#include <array>
#include <cstddef>

namespace plx::star::gravity {

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

}  // namespace plx::star::gravity
