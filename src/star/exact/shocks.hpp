// Exact solutions with shocks: the Riemann problem (riemann_solution), the Sedov-Taylor blast wave (sedov_solution).
//
// Thread safety: immutable after construction. Cost: constructions take about 1 us (Riemann: one equation by Newton's
// method) and 100 us (Sedov: an integral of the energy). riemann_solution::at() costs one or two pow() inside a
// rarefaction and nothing elsewhere; sedov_solution::at() about 1 us inside the blast.
// Read star/exact/test/riemann_test.cpp and sedov_test.cpp as examples.
#pragma once

namespace plx::star {

/// A gas that moves along one axis. rho = 0 is vacuum; its velocity and pressure are then meaningless.
struct gas_state {
  double rho = 1, velocity = 0, pressure = 1;
};

/// The five speeds x/t that bound the waves, ascending. A shock has head == tail; next to vacuum the rarefaction's tail
/// is the edge of the gas, and the contact is there or, between two edges, halfway.
struct wave_fan {
  double left_head, left_tail, contact, right_tail, right_head;
};

/// The exact solution of the Riemann problem of a gamma-law gas, vacuum included.
class riemann_solution {
 public:
  /// Requires: rho > 0 and p > 0, or rho = 0, on each side (not vacuum on both); gamma > 1.
  /// Source: Toro (2009), chapter 4. The iteration stops at a relative change of 1e-15 of the pressure.
  riemann_solution(const gas_state& left, const gas_state& right, double gamma);

  /// The state at x/t = speed. A mirrored problem gives the mirrored state to the last bit.
  gas_state at(double speed) const noexcept;

  /// Pressure and velocity between the outer waves; zero pressure where vacuum opens.
  double star_pressure() const noexcept { return star_pressure_; }
  double star_velocity() const noexcept { return fan_.contact; }
  bool has_vacuum() const noexcept { return has_vacuum_; }
  const wave_fan& fan() const noexcept { return fan_; }

 private:
  void solve_star();
  void open_vacuum();

  gas_state left_, right_;
  double gamma_;
  double star_pressure_ = 0;
  double star_rho_left_ = 0, star_rho_right_ = 0;
  bool has_vacuum_ = false;
  wave_fan fan_{};
};

struct radial_state {
  double rho = 0, velocity = 0, pressure = 0;
};

/// The blast wave of a point explosion of energy E in a cold gas of constant density, spherical.
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
