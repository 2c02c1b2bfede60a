// Small perturbations of a flow: the plane waves of a uniform gas (linear_wave), and the growing mode of a shear layer
// (shear_layer).
//
// Thread safety: immutable after construction. Cost: linear_wave::at() is one cosine; a shear_layer takes about 40 ms
// to construct, its at() about 200 ns. Read star/exact/test/linear_wave_test.cpp and shear_layer_test.cpp as examples.
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "base/result.hpp"

namespace plx::star {

enum class wave_kind { sound, entropy, shear_first, shear_second };

/// A perturbation of the primitive variables, or a state of them; velocity in the box's axes.
struct wave_state {
  double rho = 0;
  std::array<double, 3> velocity{};
  double pressure = 0;
};

struct linear_wave_parameters {
  wave_kind kind = wave_kind::sound;
  int sign = 1;             ///< +1 travels along the direction, -1 against it: the mirror image
  double amplitude = 1e-6;  ///< relative to rho, or to the sound speed for shear waves
  double rho = 1, pressure = 0.6, sound_speed = 1;
  double flow = 0;                           ///< speed of the background along sign * direction
  std::array<double, 3> direction{1, 0, 0};  ///< need not be normalised
  double wavelength = 1;
};

/// The linear waves of the Euler equations on a uniform background: sound, entropy and two shear waves, plane, in any
/// direction. Entropy and shear waves are exact at any amplitude; sound waves to first order in it.
class linear_wave {
 public:
  /// Requires: rho > 0, sound_speed > 0, wavelength > 0, sign = +1 or -1, a direction that is not zero.
  explicit linear_wave(const linear_wave_parameters& parameters);

  /// Speed along +direction.
  double speed() const noexcept { return speed_; }
  double period() const noexcept;
  /// The right eigenvector times the amplitude.
  const wave_state& perturbation() const noexcept { return perturbation_; }

  /// The state where (x . direction) / wavelength = phase at time t: the profile is a cosine, even in space, so that a
  /// wave of the other sign is its mirror image to the last bit.
  wave_state at(double phase, double t) const noexcept;

 private:
  linear_wave_parameters parameters_;
  std::array<double, 3> flow_{};
  double speed_ = 0;
  wave_state perturbation_;
};

struct shear_layer_parameters {
  double speed = 1;          ///< U0: the flow is -U0 far below and +U0 far above
  double thickness = 0.07;   ///< a
  double wavelength = 1;     ///< 2 pi / k
  double half_height = 0.5;  ///< H
  double rho = 1;
  double sound_speed = 2;
};

/// Linear Kelvin-Helmholtz instability of a smooth shear layer: its growth rate and its eigenfunction.
///
/// The layer: velocity U0 tanh(y / a) along x, uniform density and pressure, walls at y = -H and y = +H. Compressible.
/// A perturbation q(y) exp(i k x + sigma t) grows with sigma = k c_i, where c_i solves an eigenvalue problem that is
/// integrated here once, as a reference for the convergence of grid codes. The layer of zero thickness has no such
/// reference: there every wave grows, and shorter ones faster.
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
