// The Sedov-Taylor blast wave: a point explosion of energy E in a cold gas of constant density, spherical.
//
// Thread safety: immutable after construction. Cost: construction integrates the energy once, about 100 us; at() inside
// the blast solves for the similarity variable by Newton's method, about 1 us.
// Read star/exact/test/sedov_test.cpp as an example.
#pragma once

namespace plx::star {

struct radial_state {
  double rho = 0, velocity = 0, pressure = 0;
};

class sedov_solution {
 public:
  /// Requires: 1 < gamma < 7, rho0 > 0, energy > 0. Within 1e-5 of gamma = 2, where the closed form is 0/0, returns the
  ///           solution of gamma = 2 - 1e-5.
  /// Source: Kamm & Timmes (2007), the standard case, with j = 3 and omega = 0.
  sedov_solution(double gamma, double rho0, double energy);

  /// E = alpha rho0 R^5 / t^2 defines the shock's radius R(t).
  double alpha() const noexcept { return alpha_; }
  double shock_radius(double t) const noexcept;
  double shock_speed(double t) const noexcept { return 0.4 * shock_radius(t) / t; }
  /// The time at which the shock reaches `radius`.
  double time_at(double radius) const noexcept;

  /// The state just behind the shock; strong-shock jump conditions.
  radial_state behind_shock(double t) const noexcept;

  /// Density, radial velocity and pressure at radius r >= 0 and time t > 0. Outside of the shock: rho0 at rest, no
  /// pressure.
  radial_state at(double r, double t) const noexcept;

 private:
  // A point of the self-similar profile; lambda = r/R, the rest relative to the values behind the shock.
  struct point {
    double log_lambda, log_lambda_slope;  // slope with respect to the parameter y
    double velocity, rho, pressure;
  };
  point profile(double y) const noexcept;
  double parameter_at(double lambda) const noexcept;
  double energy_integral() const;

  double gamma_, rho0_, energy_;
  double a1_, a2_, a3_, a4_, a5_;  // exponents
  double alpha_ = 0;
};

}  // namespace plx::star
