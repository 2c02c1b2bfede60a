// Linear Kelvin-Helmholtz instability of a smooth shear layer: its growth rate and its eigenfunction.
//
// The layer: velocity U0 tanh(y / a) along x, uniform density and pressure, walls at y = -H and y = +H. Compressible.
// A perturbation q(y) exp(i k x + sigma t) grows with sigma = k c_i, where c_i solves an eigenvalue problem that is
// integrated here once, as a reference for the convergence of grid codes. The layer of zero thickness has no such
// reference: there every wave grows, and shorter ones faster.
//
// Thread safety: immutable after construction. Cost: construction about 40 ms; at() about 200 ns.
// Read star/exact/test/shear_layer_test.cpp as an example.
#pragma once

#include <complex>
#include <vector>

#include "base/result.hpp"

namespace plx::star {

struct shear_layer_parameters {
  double speed = 1;          ///< U0: the flow is -U0 far below and +U0 far above
  double thickness = 0.07;   ///< a
  double wavelength = 1;     ///< 2 pi / k
  double half_height = 0.5;  ///< H
  double rho = 1;
  double sound_speed = 2;
};

class shear_layer {
 public:
  using complex = std::complex<double>;

  /// Amplitudes of a mode as functions of y; the physical perturbation is the real part of q exp(i k x + sigma t).
  struct mode {
    complex rho, velocity_x, velocity_y, pressure;
  };

  /// Finds the fastest mode that is stationary in the frame of the layer's middle.
  /// Errors: no growing mode (too short a wave, or supersonic): one line with what to change.
  /// Source: the equation for the pressure of a compressible parallel flow, as in Blumen (1970).
  static result<shear_layer> solve(const shear_layer_parameters& parameters);

  double growth_rate() const noexcept;
  double flow(double y) const noexcept;
  /// Requires: |y| <= H. Normalised so that the largest |velocity_y| is U0.
  mode at(double y) const noexcept;

  const shear_layer_parameters& parameters() const noexcept { return parameters_; }

 private:
  struct pressure_wave {
    complex value, slope;
  };

  explicit shear_layer(const shear_layer_parameters& parameters) : parameters_(parameters) {}
  double flow_slope(double y) const noexcept;
  pressure_wave derivative(double y, const pressure_wave& p, double growth) const noexcept;
  pressure_wave step(double y, double h, const pressure_wave& p, double growth) const noexcept;
  double mismatch(double growth) const noexcept;
  void tabulate();
  mode unscaled(double y) const noexcept;

  shear_layer_parameters parameters_;
  double growth_ = 0;  // c_i
  double scale_ = 1;
  std::vector<pressure_wave> table_;  // from the lower wall to the middle; the upper half is its conjugate
};

}  // namespace plx::star
