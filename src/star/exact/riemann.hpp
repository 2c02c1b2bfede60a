// The exact solution of the Riemann problem of a gamma-law gas, vacuum included.
//
// Thread safety: immutable after construction. Cost: construction solves one equation by Newton's method, about 1 us;
// at() costs one or two pow() inside a rarefaction and nothing elsewhere.
// Read star/exact/test/riemann_test.cpp as an example.
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

}  // namespace plx::star
