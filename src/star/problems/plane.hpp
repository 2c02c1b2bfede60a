// A direction through the box in which planes repeat: along it, phase grows by one per wavelength, and the phase
// differs by whole numbers between opposite sides of the box. So a plane wave along it is periodic along every axis.
//
// Thread safety: a value. Cost: phase() some ns. Read star/problems/plane_test.cpp as an example.
#pragma once

#include <array>

#include "base/result.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

class plane_direction {
 public:
  plane_direction() = default;

  /// `turns`: how many wavelengths fit along each axis of the box, with sign: {1, 0, 0} is the x axis.
  /// Errors: all zero: one line that names `key`.
  static result<plane_direction> make(const std::array<int, 3>& turns, const problem_setting& box, const char* key);

  const vector& normal() const noexcept { return normal_; }
  double wavelength() const noexcept { return wavelength_; }

  /// Zero in the middle of the box; the same bits for permuted, the negative for mirrored points and directions.
  double phase(const vector& x) const noexcept;
  /// Distance from the plane through the middle.
  double distance(const vector& x) const noexcept { return phase(x) * wavelength_; }

  /// `n` points along the axes in which anything changes along this direction, one along the others.
  std::array<int, 3> samples(int n) const noexcept;
  /// Whether the plane at this distance from the middle cuts the cell.
  bool cuts(const cell& c, double distance) const noexcept;

 private:
  vector centre_{}, normal_{1, 0, 0}, phase_slope_{1, 0, 0};
  double wavelength_ = 1;
};

}  // namespace plx::star
