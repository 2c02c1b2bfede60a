// Polytropes: spheres in hydrostatic equilibrium under their own gravity with p = K rho^(1 + 1/n).
//
// Thread safety: const; any thread. Cost: construction some 0.1 ms; a lookup some 10 ns.
// Example: star/exact/test/lane_emden_test.cpp
#pragma once

#include <vector>

namespace plx::star {

/// The solution of the Lane-Emden equation, theta'' + 2 theta'/xi + theta^n = 0, theta(0) = 1, theta'(0) = 0.
/// Requires: 0 <= n < 5. Source: Chandrasekhar (1939), An Introduction to the Study of Stellar Structure, chapter 4.
class lane_emden {
 public:
  explicit lane_emden(double n);

  double surface() const { return surface_; }  ///< the first zero, xi_1
  double slope() const { return slope_; }      ///< theta'(xi_1), negative
  /// theta at xi; 0 outside of the surface.
  double at(double xi) const;
  /// theta' at xi. Requires: 0 <= xi <= surface().
  double slope(double xi) const;

 private:
  double index_ = 0.0, step_ = 0.0, surface_ = 0.0, slope_ = 0.0;
  std::vector<double> theta_, derivative_;  // at multiples of the step
};

/// A polytrope of this mass and radius.
struct polytrope {
  polytrope(double n, double mass, double radius, double gravity);

  double density(double r) const;
  double pressure(double density) const;  ///< K rho^(1 + 1/n)
  /// Gravitational energy, -3 G M^2 / ((5 - n) R).
  double potential_energy() const;

  double n, mass, radius, gravity;
  double central_density, k;
  lane_emden solution;
};

}  // namespace plx::star
