// Radial pulsations of polytropes: small adiabatic oscillations about hydrostatic equilibrium.
//
// Thread safety: const; any thread. Cost: construction some 10 ms; a lookup some 10 ns.
// Example: star/exact/test/pulsation_test.cpp
#pragma once

#include <vector>

#include "star/exact/lane_emden.hpp"

namespace plx::star {

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
