#include "star/exact/waves.hpp"

#include <algorithm>
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

namespace {
constexpr int n_steps = 2000;  // of the fourth-order integration from a wall to the middle
constexpr double pi = std::numbers::pi;
using complex = std::complex<double>;
}  // namespace

double shear_layer::flow(double y) const noexcept { return parameters_.speed * std::tanh(y / parameters_.thickness); }

double shear_layer::flow_slope(double y) const noexcept {
  const double t = std::tanh(y / parameters_.thickness);
  return parameters_.speed / parameters_.thickness * (1 - t * t);
}

double shear_layer::growth_rate() const noexcept { return 2 * pi / parameters_.wavelength * growth_; }

// p'' = 2 U' p' / (U - c) + k^2 (1 - (U - c)^2 / c_sound^2) p with c = i growth.
shear_layer::pressure_wave shear_layer::derivative(double y, const pressure_wave& p, double growth) const noexcept {
  const complex relative(flow(y), -growth);
  const double k = 2 * pi / parameters_.wavelength, c = parameters_.sound_speed;
  return {p.slope, 2 * flow_slope(y) / relative * p.slope + k * k * (1.0 - relative * relative / (c * c)) * p.value};
}

shear_layer::pressure_wave shear_layer::step(double y, double h, const pressure_wave& p, double growth) const noexcept {
  const auto along = [&](const pressure_wave& d, double by) {
    return pressure_wave{p.value + by * d.value, p.slope + by * d.slope};
  };
  const auto k1 = derivative(y, p, growth), k2 = derivative(y + h / 2, along(k1, h / 2), growth);
  const auto k3 = derivative(y + h / 2, along(k2, h / 2), growth), k4 = derivative(y + h, along(k3, h), growth);
  return {p.value + h / 6 * (k1.value + 2.0 * k2.value + 2.0 * k3.value + k4.value),
          p.slope + h / 6 * (k1.slope + 2.0 * k2.slope + 2.0 * k3.slope + k4.slope)};
}

// The equation is invariant under y -> -y with conjugation, because U is odd and c imaginary. So a mode is its own
// image up to a phase, which holds exactly when Re(conj(p) p') = 0 in the middle; at the wall p' = 0.
double shear_layer::mismatch(double growth) const noexcept {
  const double h = parameters_.half_height / n_steps;
  pressure_wave p{1, 0};
  for (int i = 0; i < n_steps; ++i) p = step(-parameters_.half_height + i * h, h, p, growth);
  return (std::conj(p.value) * p.slope).real() / std::norm(p.value);
}

result<shear_layer> shear_layer::solve(const shear_layer_parameters& q) {
  PLX_ASSERT(q.speed > 0 && q.thickness > 0 && q.wavelength > 0 && q.half_height > 0 && q.sound_speed > 0 && q.rho > 0,
             q.speed, q.thickness, q.wavelength, q.half_height, q.sound_speed, q.rho);
  shear_layer layer(q);
  constexpr int n_scan = 40;
  double high = q.speed, at_high = layer.mismatch(high);
  for (int i = n_scan - 1; i >= 1; --i) {  // from above: no mode grows faster than k U0
    double low = q.speed * i / n_scan;
    const double at_low = layer.mismatch(low);
    if ((at_low > 0) != (at_high > 0)) {
      for (int halving = 0; halving < 50; ++halving) {
        const double middle = 0.5 * (low + high);
        ((layer.mismatch(middle) > 0) == (at_low > 0) ? low : high) = middle;
      }
      layer.growth_ = 0.5 * (low + high);
      layer.tabulate();
      return layer;
    }
    high = low;
    at_high = at_low;
  }
  return error{
      "expected a shear layer with a growing mode, found none: a tanh layer is unstable for waves longer than "
      "2 pi * thickness and speeds below the sound speed; raise the wavelength, or lower thickness or speed"};
}

void shear_layer::tabulate() {
  const double h = parameters_.half_height / n_steps;
  table_.assign(1, {1, 0});
  for (int i = 0; i < n_steps; ++i) {
    table_.push_back(step(-parameters_.half_height + i * h, h, table_.back(), growth_));
  }
  const complex phase = std::conj(table_.back().value) / std::abs(table_.back().value);  // makes p real in the middle
  for (pressure_wave& p : table_) p = {p.value * phase, p.slope * phase};
  double largest = 0;
  for (int i = 0; i <= n_steps; ++i) largest = std::max(largest, std::abs(unscaled(-i * h).velocity_y));
  scale_ = parameters_.speed / largest;
}

// Momentum gives the velocities, and constant entropy the density.
shear_layer::mode shear_layer::unscaled(double y) const noexcept {
  const double h = parameters_.half_height / n_steps;
  const double place = std::clamp((parameters_.half_height - std::abs(y)) / h, 0.0, double(n_steps));
  const int i = std::min(static_cast<int>(place), n_steps - 1);
  const double s = place - i;
  const pressure_wave &a = table_[i], &b = table_[i + 1];
  // Cubic interpolation through values and slopes for p. For p' the cubic uses the values of p' and the equation's p''.
  const double below = -parameters_.half_height;
  const complex da = derivative(below + i * h, a, growth_).slope,
                db = derivative(below + (i + 1) * h, b, growth_).slope;
  const double h00 = (1 + 2 * s) * (1 - s) * (1 - s), h10 = s * (1 - s) * (1 - s);
  const double h01 = s * s * (3 - 2 * s), h11 = s * s * (s - 1);
  pressure_wave p{h00 * a.value + h10 * h * a.slope + h01 * b.value + h11 * h * b.slope,
                  h00 * a.slope + h10 * h * da + h01 * b.slope + h11 * h * db};
  if (y > 0) p = {std::conj(p.value), -std::conj(p.slope)};
  const double k = 2 * pi / parameters_.wavelength, c = parameters_.sound_speed;
  const complex i_k(0, k), relative(flow(y), -growth_);
  mode m;
  m.pressure = p.value;
  m.rho = p.value / (c * c);
  m.velocity_y = -p.slope / (i_k * parameters_.rho * relative);
  m.velocity_x = -p.value / (parameters_.rho * relative) - flow_slope(y) * m.velocity_y / (i_k * relative);
  return m;
}

shear_layer::mode shear_layer::at(double y) const noexcept {
  mode m = unscaled(y);
  for (complex* q : {&m.rho, &m.velocity_x, &m.velocity_y, &m.pressure}) *q *= scale_;
  return m;
}

}  // namespace plx::star
