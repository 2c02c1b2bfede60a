// Balls and homogeneous spheroids in closed form: the volume of a ball in a cell (a box), the gravity of a spheroid,
// and the free fall of a sphere without pressure.
//
// Thread safety: const; any thread. Cost: about 100 ns per evaluation of gravity, 1 us where a sphere cuts a cell.
// Example: star/exact/test/spheroid_test.cpp, star/exact/test/ball_box_test.cpp
#pragma once

#include <array>

namespace plx::star {

/// The spheroid (x^2 + y^2) / a^2 + z^2 / c^2 <= 1 of uniform density. a = c is a sphere, c < a oblate, c > a prolate.
/// Source: Chandrasekhar (1969), Ellipsoidal Figures of Equilibrium, chapter 3. Outside, the potential is that of the
/// confocal spheroid of the same mass through the point (Maclaurin's theorem).
struct spheroid {
  double equatorial = 1.0, polar = 1.0;  ///< a, c; above 0
  double mass = 1.0, gravity = 1.0;

  double density() const;
  /// Shapes: x: relative to the centre.
  double potential(const std::array<double, 3>& x) const;
  std::array<double, 3> acceleration(const std::array<double, 3>& x) const;
  /// Half the integral of density times potential.
  double potential_energy() const;
};

/// A_1 of Chandrasekhar's index symbols: inside, the acceleration is -2 pi G rho (A_1 x, A_1 y, A_3 z), where
/// 2 A_1 + A_3 = 2. Requires: flatness = c / a > 0.
double spheroid_index(double flatness);

/// The collapse of a homogeneous sphere from rest without pressure. It stays homogeneous; r / radius of each shell
/// obeys r / r0 = cos^2 w, t = (2 / pi) (w + sin(2 w) / 2) free-fall times.
struct free_fall {
  double radius = 1.0, mass = 1.0, gravity = 1.0;  ///< at the start

  /// The time until the density is infinite, pi / 2 (radius^3 / (2 G M))^(1/2).
  double time() const;
  struct state {
    double ratio;  ///< radius over that at the start
    double rate;   ///< its derivative with respect to time, <= 0
  };
  /// Requires: 0 <= t < time().
  state at(double t) const;
};

/// Volume of the ball of `radius` around the origin inside the box of `centre` and `width`, over the box's volume.
/// Boxes that tile the ball sum to its volume to rounding; mirrored and permuted boxes give the same bits.
/// Requires: radius > 0, width > 0.
/// Source: the octant minus caps plus pairs of caps that overlap, integrated in closed form.
double ball_fraction(double radius, const std::array<double, 3>& centre, const std::array<double, 3>& width);

}  // namespace plx::star
