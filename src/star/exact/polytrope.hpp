// Polytropes, the Lane-Emden equation, and radial pulsations. A polytrope is a sphere in hydrostatic equilibrium under
// its own gravity with p = K rho^(1 + 1/n); pulsations are small adiabatic oscillations about it.
//
// Thread safety: const; any thread. Cost: construction some 0.1 ms, of a pulsation 10 ms; a lookup some 10 ns.
// Example: star/exact/test/lane_emden_test.cpp, star/exact/test/pulsation_test.cpp
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

/// A radial mode of a star, dr(r, t) = displacement(r) sin(frequency t). It solves the linear adiabatic wave equation
///   (gamma p r^4 h')' + (((3 gamma - 4) p)' r^3 + w^2 rho r^4) h = 0,   h = dr / r,
/// regular in the centre and at the surface, by integration from both and bisection of w^2 until they meet.
/// Requires: gamma > 4/3 (otherwise the star collapses), 0 <= overtone <= 20.
/// Source: Cox (1980), Theory of Stellar Pulsation, chapter 8.
class pulsation {
 public:
  pulsation(const polytrope& star, double gamma, int overtone = 0);

  double frequency() const { return frequency_; }  ///< w, angular
  double period() const;
  /// w^2 R^3 / (G M), which depends on the index, gamma and the overtone only.
  double square() const { return square_; }
  /// dr over the radius of the star; 1 at the surface, 0 beyond it.
  double displacement(double r) const;

 private:
  double radius_, frequency_ = 0.0, square_ = 0.0;
  std::vector<double> relative_;  // h at equal steps of r, the last one at the surface
};

}  // namespace plx::star
