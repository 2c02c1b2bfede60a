#include "star/exact/ball_box.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.hpp"
#include "num/exact_sum.hpp"
#include "num/symmetric.hpp"

namespace plx::star {
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
