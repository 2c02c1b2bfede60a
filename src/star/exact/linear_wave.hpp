// The linear waves of the Euler equations on a uniform background: sound, entropy and two shear waves, plane, in any
// direction. Entropy and shear waves are exact at any amplitude; sound waves to first order in it.
//
// Thread safety: immutable. Cost: at() is one cosine.
// Read star/exact/test/linear_wave_test.cpp as an example.
#pragma once

#include <array>

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

}  // namespace plx::star
