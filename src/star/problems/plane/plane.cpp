#include "star/problems/plane/plane.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>

#include "num/symmetric.hpp"

namespace plx::star {

result<plane_direction> plane_direction::make(const std::array<int, 3>& turns, const problem_setting& box,
                                              const char* key) {
  if (turns[0] == 0 && turns[1] == 0 && turns[2] == 0) {
    return error{std::string(key) + ": expected a direction, found [0, 0, 0]; [1, 0, 0] is the x axis"};
  }
  plane_direction d;
  for (int axis = 0; axis < 3; ++axis) {
    d.centre_[axis] = 0.5 * (box.lower[axis] + box.upper[axis]);
    d.phase_slope_[axis] = turns[axis] / (box.upper[axis] - box.lower[axis]);
  }
  d.wavelength_ = 1 / std::sqrt(symmetric_norm2(d.phase_slope_[0], d.phase_slope_[1], d.phase_slope_[2]));
  for (int axis = 0; axis < 3; ++axis) d.normal_[axis] = d.phase_slope_[axis] * d.wavelength_;
  return d;
}

double plane_direction::phase(const vector& x) const noexcept {
  vector term{};
  for (int axis = 0; axis < 3; ++axis) term[axis] = phase_slope_[axis] * (x[axis] - centre_[axis]);
  return symmetric_sum(term[0], term[1], term[2]);
}

std::array<int, 3> plane_direction::samples(int n) const noexcept {
  std::array<int, 3> s{};
  for (int axis = 0; axis < 3; ++axis) s[axis] = phase_slope_[axis] != 0 ? n : 1;
  return s;
}

// The volume under a plane in a unit cube, by inclusion and exclusion of the pyramids beyond its far corners; powers
// and factorial are those of the number of axes that are not parallel to the plane.
double plane_direction::part_on_left(const vector& width, double distance) const {
  std::array<double, 3> extent{};
  for (int axis = 0; axis < 3; ++axis) extent[axis] = std::abs(normal_[axis]) * width[axis];
  std::sort(extent.begin(), extent.end(), std::greater<>());
  const int n = extent[2] > 0 ? 3 : extent[1] > 0 ? 2 : 1;
  const double reach = extent[0] + extent[1] + extent[2];
  const double depth = 0.5 * reach - std::abs(distance);  // of the plane inside, from the nearer corner
  if (depth <= 0) return distance > 0 ? 0 : 1;
  double volume = 0, scale = 1;
  for (int axis = 0; axis < n; ++axis) scale *= (axis + 1) * extent[axis];
  for (int corner = 0; corner < 1 << n; ++corner) {
    double left = depth;
    for (int axis = 0; axis < n; ++axis) left -= (corner >> axis) % 2 != 0 ? extent[axis] : 0;
    if (left > 0) volume += (std::popcount(static_cast<unsigned>(corner)) % 2 != 0 ? -1 : 1) * std::pow(left, n);
  }
  const double part = volume / scale;
  return distance > 0 ? part : 1 - part;
}

}  // namespace plx::star
