#include "star/exact/riemann.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"

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

}  // namespace plx::star
