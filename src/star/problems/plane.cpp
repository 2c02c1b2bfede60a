#include "star/problems/plane.hpp"

#include <cmath>
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

bool plane_direction::cuts(const cell& c, double where) const noexcept {
  double reach = 0;
  for (int axis = 0; axis < 3; ++axis) reach += 0.5 * std::abs(normal_[axis]) * c.width[axis];
  return std::abs(distance(c.centre) - where) <= reach * (1 + 1e-12);
}

}  // namespace plx::star
