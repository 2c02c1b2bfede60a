#include "star/exact/spheroid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.hpp"
#include "num/exact_sum.hpp"
#include "num/symmetric.hpp"

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

namespace {

// The part of the unit ball's octant with x > a.
double cap(double a) { return a < 1 ? std::numbers::pi / 12 * (1 - a) * (1 - a) * (2 + a) : 0.0; }

// The part of the octant with x > a and y > b: the integral over x of half a circular segment.
double cap_pair(double a, double b) {
  const double s2 = 1 - (a * a + b * b);
  if (s2 <= 0) return 0;
  const double s = std::sqrt(s2);
  const double edges = (a - a * a * a / 3) * std::atan2(s, b) + (b - b * b * b / 3) * std::atan2(s, a);
  return 0.5 * (2.0 / 3 * (a * b * s + std::atan2(s, a * b)) - edges);
}

// The volume of the unit ball inside [0, a] x [0, b] x [0, c].
double corner_volume(std::array<double, 3> corner) {
  std::sort(corner.begin(), corner.end());
  const auto [a, b, c] = corner;
  if (symmetric_norm2(a, b, c) <= 1) return a * b * c;
  return std::numbers::pi / 6 - (cap(a) + cap(b) + cap(c)) + (cap_pair(a, b) + cap_pair(a, c) + cap_pair(b, c));
}

}  // namespace

double ball_fraction(double radius, const std::array<double, 3>& centre, const std::array<double, 3>& width) {
  PLX_ASSERT(radius > 0, radius);
  std::array<double, 3> near{}, far{}, lower{}, upper{};  // in units of the radius
  for (int axis = 0; axis < 3; ++axis) {
    const double middle = std::abs(centre[axis]), half = 0.5 * width[axis];
    lower[axis] = (middle - half) / radius;
    upper[axis] = (middle + half) / radius;
    near[axis] = std::max(lower[axis], 0.0);
    far[axis] = upper[axis];
  }
  if (symmetric_norm2(far[0], far[1], far[2]) <= 1) return 1;
  if (symmetric_norm2(near[0], near[1], near[2]) >= 1) return 0;
  exact_sum volume;  // of the eight signed corners, in any order
  for (int corner = 0; corner < 8; ++corner) {
    std::array<double, 3> at{};
    bool negative = false;
    for (int axis = 0; axis < 3; ++axis) {
      const bool high = ((corner >> axis) & 1) != 0;
      const double x = high ? upper[axis] : lower[axis];
      negative ^= high == (x < 0);  // odd in each coordinate, and negative for each lower corner
      at[axis] = std::min(std::abs(x), 1.0);
    }
    const double v = corner_volume(at);
    volume.add(negative ? -v : v);
  }
  std::array<double, 3> edge{width[0] / radius, width[1] / radius, width[2] / radius};
  std::sort(edge.begin(), edge.end());
  return std::clamp(volume.value() / (edge[0] * edge[1] * edge[2]), 0.0, 1.0);
}

}  // namespace plx::star
