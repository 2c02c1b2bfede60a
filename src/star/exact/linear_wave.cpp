#include "star/exact/linear_wave.hpp"

#include <cmath>
#include <numbers>

#include "base/assert.hpp"
#include "num/symmetric.hpp"

namespace plx::star {
namespace {

using vector = std::array<double, 3>;

vector scaled(const vector& v, double by) { return {v[0] * by, v[1] * by, v[2] * by}; }

// Two unit vectors across n. The first lies in the plane of the first two axes that follow the largest component of n
// cyclically, so that permuting the axes cyclically permutes the waves.
std::array<vector, 2> across(const vector& n) {
  int axis = 0;
  for (int a = 1; a < 3; ++a) {
    if (std::abs(n[a]) > std::abs(n[axis])) axis = a;
  }
  const int next = (axis + 1) % 3;
  const double length = std::hypot(n[axis], n[next]);
  vector first{};
  first[axis] = -n[next] / length;
  first[next] = n[axis] / length;
  const vector second{n[1] * first[2] - n[2] * first[1], n[2] * first[0] - n[0] * first[2],
                      n[0] * first[1] - n[1] * first[0]};
  return {first, second};
}

}  // namespace

linear_wave::linear_wave(const linear_wave_parameters& parameters) : parameters_(parameters) {
  const auto& q = parameters_;
  PLX_ASSERT(q.rho > 0 && q.sound_speed > 0 && q.wavelength > 0, q.rho, q.sound_speed, q.wavelength);
  PLX_ASSERT(q.sign == 1 || q.sign == -1, q.sign);
  const double norm2 = symmetric_norm2(q.direction[0], q.direction[1], q.direction[2]);
  PLX_ASSERT(norm2 > 0, norm2);
  const vector n = scaled(q.direction, 1 / std::sqrt(norm2));
  const double c = q.sound_speed, sign = q.sign;
  flow_ = scaled(n, sign * q.flow);
  speed_ = sign * (q.kind == wave_kind::sound ? q.flow + c : q.flow);
  switch (q.kind) {
    case wave_kind::sound:
      perturbation_ = {q.amplitude * q.rho, scaled(n, sign * q.amplitude * c), q.amplitude * q.rho * (c * c)};
      break;
    case wave_kind::entropy:
      perturbation_ = {q.amplitude * q.rho, {}, 0};
      break;
    case wave_kind::shear_first:
      perturbation_ = {0, scaled(across(n)[0], sign * q.amplitude * c), 0};
      break;
    case wave_kind::shear_second:
      perturbation_ = {0, scaled(across(n)[1], sign * q.amplitude * c), 0};
      break;
  }
}

double linear_wave::period() const noexcept { return parameters_.wavelength / std::abs(speed_); }

wave_state linear_wave::at(double phase, double t) const noexcept {
  const double turns = phase - speed_ * t / parameters_.wavelength;
  const double wave = std::cos(2 * std::numbers::pi * (turns - std::nearbyint(turns)));
  const auto& d = perturbation_;
  wave_state s{parameters_.rho + d.rho * wave, flow_, parameters_.pressure + d.pressure * wave};
  for (int axis = 0; axis < 3; ++axis) s.velocity[axis] += d.velocity[axis] * wave;
  return s;
}

}  // namespace plx::star
