#include "star/exact/spheroid.hpp"

#include <cmath>
#include <numbers>

#include "base/assert.hpp"

namespace plx::star {

namespace {

// (asin(e) / e - sqrt(1 - e^2)) / e^2 and its continuation to e^2 < 0, prolate spheroids.
double arc_term(double e2) {
  if (std::abs(e2) < 0.02) {  // the difference of the two terms would lose digits
    double sum = 0.0, power = 1.0, binomial = 0.5;
    for (int k = 1; k <= 10; ++k) {  // binomial: (2k over k) / 4^k
      sum += power * binomial * (4.0 * k / (4.0 * k * k - 1.0));
      power *= e2;
      binomial *= (2.0 * k + 1.0) / (2.0 * k + 2.0);
    }
    return sum;
  }
  const double e = std::sqrt(std::abs(e2)), arc = e2 > 0.0 ? std::asin(e) : std::asinh(e);
  return (arc / e - std::sqrt(1.0 - e2)) / e2;
}

// The confocal spheroid of the same mass through x, or the spheroid itself if x is inside.
spheroid through(const spheroid& s, const std::array<double, 3>& x) {
  const double a2 = s.equatorial * s.equatorial, c2 = s.polar * s.polar;
  const double r2 = x[0] * x[0] + x[1] * x[1], z2 = x[2] * x[2];
  if (r2 / a2 + z2 / c2 <= 1.0) return s;
  // r2 / (a2 + l) + z2 / (c2 + l) = 1
  const double half = 0.5 * (r2 + z2 - a2 - c2), rest = a2 * c2 - r2 * c2 - z2 * a2;
  const double l = half + std::sqrt(half * half - rest);
  return {std::sqrt(a2 + l), std::sqrt(c2 + l), s.mass, s.gravity};
}

}  // namespace

double spheroid_index(double flatness) { return flatness * arc_term(1.0 - flatness * flatness); }

double spheroid::density() const { return mass / (4.0 / 3.0 * std::numbers::pi * equatorial * equatorial * polar); }

double spheroid::potential(const std::array<double, 3>& x) const {
  const spheroid s = through(*this, x);
  const double a1 = spheroid_index(s.polar / s.equatorial), a3 = 2.0 - 2.0 * a1;
  const double a2 = s.equatorial * s.equatorial, c2 = s.polar * s.polar;
  return -std::numbers::pi * gravity * s.density() *
         (a1 * (2.0 * a2 - x[0] * x[0] - x[1] * x[1]) + a3 * (c2 - x[2] * x[2]));
}

std::array<double, 3> spheroid::acceleration(const std::array<double, 3>& x) const {
  const spheroid s = through(*this, x);
  const double a1 = spheroid_index(s.polar / s.equatorial), factor = -2.0 * std::numbers::pi * gravity * s.density();
  return {factor * a1 * x[0], factor * a1 * x[1], factor * (2.0 - 2.0 * a1) * x[2]};
}

double spheroid::potential_energy() const {
  const double a1 = spheroid_index(polar / equatorial);
  const double size2 = 2.0 * a1 * equatorial * equatorial + (2.0 - 2.0 * a1) * polar * polar;
  return -0.3 * gravity * mass * mass * size2 / (equatorial * equatorial * polar);
}

double free_fall::time() const {
  return 0.5 * std::numbers::pi * std::sqrt(radius * radius * radius / (2.0 * gravity * mass));
}

free_fall::state free_fall::at(double t) const {
  PLX_ASSERT(t >= 0.0 && t < time(), t, time());
  double low = 0.0, high = 0.5 * std::numbers::pi;
  for (int i = 0; i < 60; ++i) {
    const double w = 0.5 * (low + high);
    (w + 0.5 * std::sin(2.0 * w) < 0.5 * std::numbers::pi * t / time() ? low : high) = w;
  }
  const double w = 0.5 * (low + high), ratio = std::cos(w) * std::cos(w);
  return {ratio, -std::sqrt(2.0 * gravity * mass / (radius * radius * radius)) * std::tan(w)};
}

}  // namespace plx::star
