#include "star/exact/shocks.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.hpp"
#include "num/quadrature.hpp"

namespace plx::star {

namespace {

double sound_speed(const gas_state& s, double gamma) { return s.rho > 0 ? std::sqrt(gamma * s.pressure / s.rho) : 0.0; }

struct velocity_jump {
  double value, slope;
};

// The change of velocity across the wave that brings `side` to pressure p, and its derivative (Toro 2009, eq. 4.6).
velocity_jump jump_to(double p, const gas_state& side, double gamma) {
  if (p > side.pressure) {  // shock
    const double a = 2 / ((gamma + 1) * side.rho), b = (gamma - 1) / (gamma + 1) * side.pressure;
    const double root = std::sqrt(a / (p + b));
    return {(p - side.pressure) * root, root * (1 - 0.5 * (p - side.pressure) / (p + b))};
  }
  const double c = sound_speed(side, gamma), ratio = p / side.pressure;
  return {2 * c / (gamma - 1) * (std::pow(ratio, (gamma - 1) / (2 * gamma)) - 1),
          std::pow(ratio, -(gamma + 1) / (2 * gamma)) / (side.rho * c)};
}

double star_density(double p, const gas_state& side, double gamma) {
  const double ratio = p / side.pressure;
  if (p <= side.pressure) return side.rho * std::pow(ratio, 1 / gamma);
  const double g = (gamma - 1) / (gamma + 1);
  return side.rho * (ratio + g) / (g * ratio + 1);
}

// Speeds of head and tail of the left wave; the right one is the mirror image.
void left_wave(const gas_state& side, double gamma, double p, double velocity, double star_rho, double& head,
               double& tail) {
  const double c = sound_speed(side, gamma);
  if (p > side.pressure) {
    const double mach = std::sqrt((gamma + 1) / (2 * gamma) * (p / side.pressure) + (gamma - 1) / (2 * gamma));
    head = tail = side.velocity - c * mach;
  } else {
    head = side.velocity - c;
    tail = velocity - std::sqrt(gamma * p / star_rho);
  }
}

// The state inside the left-going rarefaction (Toro 2009, eq. 4.56).
gas_state left_rarefaction(const gas_state& side, double gamma, double speed) {
  const double c = sound_speed(side, gamma);
  const double ratio = (2 + (gamma - 1) * (side.velocity - speed) / c) / (gamma + 1);
  return {side.rho * std::pow(ratio, 2 / (gamma - 1)), 2 / (gamma + 1) * (c + (gamma - 1) / 2 * side.velocity + speed),
          side.pressure * std::pow(ratio, 2 * gamma / (gamma - 1))};
}

gas_state mirrored(const gas_state& s) { return {s.rho, -s.velocity, s.pressure}; }

}  // namespace

riemann_solution::riemann_solution(const gas_state& left, const gas_state& right, double gamma)
    : left_(left), right_(right), gamma_(gamma) {
  PLX_ASSERT(gamma > 1, gamma);
  PLX_ASSERT(left.rho >= 0 && (left.rho == 0 || left.pressure > 0), left.rho, left.pressure);
  PLX_ASSERT(right.rho >= 0 && (right.rho == 0 || right.pressure > 0), right.rho, right.pressure);
  PLX_ASSERT(left.rho > 0 || right.rho > 0, left.rho, right.rho);
  const double escape = 2 / (gamma - 1) * (sound_speed(left, gamma) + sound_speed(right, gamma));
  has_vacuum_ = left.rho == 0 || right.rho == 0 || right.velocity - left.velocity >= escape;
  has_vacuum_ ? open_vacuum() : solve_star();
}

// The equation is increasing and concave in p, so Newton's method falls below the root and then converges from there.
void riemann_solution::solve_star() {
  const double cl = sound_speed(left_, gamma_), cr = sound_speed(right_, gamma_), z = (gamma_ - 1) / (2 * gamma_);
  const double difference = right_.velocity - left_.velocity;
  double p = std::pow((cl + cr - 0.5 * (gamma_ - 1) * difference) /
                          (cl * std::pow(left_.pressure, -z) + cr * std::pow(right_.pressure, -z)),
                      1 / z);  // exact for two rarefactions
  p = std::max(p, 1e-300);
  for (int iteration = 0; iteration < 200; ++iteration) {
    const velocity_jump l = jump_to(p, left_, gamma_), r = jump_to(p, right_, gamma_);
    const double next = std::max(p - ((l.value + r.value) + difference) / (l.slope + r.slope), 1e-3 * p);
    const bool converged = std::abs(next - p) <= 1e-15 * p;
    p = next;
    if (converged) break;
  }
  const velocity_jump l = jump_to(p, left_, gamma_), r = jump_to(p, right_, gamma_);
  star_pressure_ = p;
  fan_.contact = 0.5 * ((left_.velocity + right_.velocity) + (r.value - l.value));
  star_rho_left_ = star_density(p, left_, gamma_);
  star_rho_right_ = star_density(p, right_, gamma_);
  left_wave(left_, gamma_, p, fan_.contact, star_rho_left_, fan_.left_head, fan_.left_tail);
  left_wave(mirrored(right_), gamma_, p, -fan_.contact, star_rho_right_, fan_.right_head, fan_.right_tail);
  fan_.right_head = -fan_.right_head;
  fan_.right_tail = -fan_.right_tail;
}

void riemann_solution::open_vacuum() {
  const double reach = 2 / (gamma_ - 1);
  if (left_.rho > 0) {
    const double c = sound_speed(left_, gamma_);
    fan_.left_head = left_.velocity - c;
    fan_.left_tail = left_.velocity + reach * c;
  }
  if (right_.rho > 0) {
    const double c = sound_speed(right_, gamma_);
    fan_.right_head = right_.velocity + c;
    fan_.right_tail = right_.velocity - reach * c;
  }
  if (left_.rho == 0) fan_.left_head = fan_.left_tail = fan_.right_tail;
  if (right_.rho == 0) fan_.right_head = fan_.right_tail = fan_.left_tail;
  fan_.contact = 0.5 * (fan_.left_tail + fan_.right_tail);
}

gas_state riemann_solution::at(double speed) const noexcept {
  if (speed <= fan_.left_head && speed <= fan_.contact) return left_.rho > 0 ? left_ : gas_state{0, 0, 0};
  if (speed >= fan_.right_head && speed >= fan_.contact) return right_.rho > 0 ? right_ : gas_state{0, 0, 0};
  if (speed < fan_.left_tail) return left_rarefaction(left_, gamma_, speed);
  if (speed > fan_.right_tail) return mirrored(left_rarefaction(mirrored(right_), gamma_, -speed));
  if (has_vacuum_) return {0, 0, 0};
  return {speed < fan_.contact ? star_rho_left_ : star_rho_right_, fan_.contact, star_pressure_};
}

namespace {

double away_from_two(double gamma) { return std::abs(gamma - 2) < 1e-5 ? 2 - 1e-5 : gamma; }

}  // namespace

// Exponents of Kamm & Timmes (2007), eqs. 42 to 47, for a sphere of constant density.
sedov_solution::sedov_solution(double gamma, double rho0, double energy)
    : gamma_(away_from_two(gamma)), rho0_(rho0), energy_(energy) {
  PLX_ASSERT(gamma > 1 && gamma < 7, gamma);
  PLX_ASSERT(rho0 > 0 && energy > 0, rho0, energy);
  const double g = gamma_;
  a2_ = -(g - 1) / (2 * g + 1);
  a1_ = 5 * g / (3 * g - 1) * (6 * (2 - g) / (25 * g) - a2_);
  a3_ = 3 / (2 * g + 1);
  a4_ = 5 * a1_ / (2 - g);
  a5_ = -2 / (2 - g);
  alpha_ = energy_integral();
}

// The closed form has a parameter V between V0 = 2/(5 gamma), the centre, and V2 = 4/(5 (gamma + 1)), the shock. Near
// the centre lambda ~ (V - V0)^-a2 with a small exponent, so V is resolved through y = log(x2), from -infinity to 0:
// log(lambda) then is nearly linear in y.
sedov_solution::point sedov_solution::profile(double y) const noexcept {
  const double g = gamma_, b = (g + 1) / (g - 1), c = 2.5 * g, e = 0.5 * (3 * g - 1);
  const double x2 = std::exp(y);
  const double v = (1 + x2 / b) / c;
  const double slope = x2 / (b * c);  // dv/dy
  const double x1 = 1.25 * (g + 1) * v;
  const double x3 = 5 * (g + 1) / (5 * (g + 1) - 2 * (3 * g - 1)) * (1 - e * v);
  const double x4 = b * (1 - c * v / g);
  const double log1 = std::log(x1), log3 = std::log(x3), log4 = std::log(x4);
  point p;
  p.log_lambda = -0.4 * log1 - a2_ * y - a1_ * log3;
  p.log_lambda_slope = -0.4 * slope / v - a2_ + a1_ * e * slope / (1 - e * v);
  p.velocity = x1 * std::exp(p.log_lambda);
  p.rho = std::exp(a3_ * y + (a4_ * log3 + a5_ * log4));
  p.pressure = std::exp(1.2 * log1 + (a4_ - 2 * a1_) * log3 + (1 + a5_) * log4);
  return p;
}

// Newton's method on the monotonic log(lambda)(y), kept inside a bracket.
double sedov_solution::parameter_at(double lambda) const noexcept {
  const double target = std::log(lambda);
  double low = target / -a2_ - 10, high = 0;
  for (int widen = 0; widen < 60 && profile(low).log_lambda > target; ++widen) low *= 2;
  double y = target / -a2_;
  for (int iteration = 0; iteration < 200; ++iteration) {
    if (!(y > low && y < high)) y = 0.5 * (low + high);
    const point p = profile(y);
    (p.log_lambda > target ? high : low) = y;
    const double step = (p.log_lambda - target) / p.log_lambda_slope;
    y -= step;
    if (std::abs(step) <= 1e-15 * (1 + std::abs(y))) break;
  }
  return std::fmin(y, 0);
}

// alpha = 32 pi / (25 (gamma^2 - 1)) * integral of (g f^2 + h) lambda^2 over lambda: the kinetic and the internal
// energy of the profile, in units of rho0 R^5 / t^2. Panels grow geometrically towards the centre, where lambda^3
// vanishes.
double sedov_solution::energy_integral() const {
  const quadrature_rule rule = gauss_legendre(24);
  const auto integrand = [&](double y) {
    const point p = profile(y);
    return (p.rho * p.velocity * p.velocity + p.pressure) * std::exp(3 * p.log_lambda) * p.log_lambda_slope;
  };
  double sum = 0, right = 0, width = 0.5;
  while (3 * profile(right).log_lambda > -45) {
    sum += integrate(rule, right - width, right, integrand);
    right -= width;
    width *= 1.5;
  }
  return 32 * std::numbers::pi / (25 * (gamma_ * gamma_ - 1)) * sum;
}

double sedov_solution::shock_radius(double t) const noexcept {
  return std::pow(energy_ * t * t / (alpha_ * rho0_), 0.2);
}

double sedov_solution::time_at(double radius) const noexcept {
  return std::sqrt(alpha_ * rho0_ * std::pow(radius, 5) / energy_);
}

radial_state sedov_solution::behind_shock(double t) const noexcept {
  const double speed = shock_speed(t);
  return {rho0_ * (gamma_ + 1) / (gamma_ - 1), 2 * speed / (gamma_ + 1), 2 * rho0_ * speed * speed / (gamma_ + 1)};
}

radial_state sedov_solution::at(double r, double t) const noexcept {
  const double lambda = r / shock_radius(t);
  if (lambda > 1) return {rho0_, 0, 0};
  const radial_state shock = behind_shock(t);
  // Below 1e-30 of the radius only the density changes, which is zero.
  const point p = profile(parameter_at(std::fmax(lambda, 1e-30)));
  return {shock.rho * p.rho, lambda < 1e-30 ? 0 : shock.velocity * p.velocity, shock.pressure * p.pressure};
}

}  // namespace plx::star
