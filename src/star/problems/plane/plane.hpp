// A direction through the box in which planes repeat: along it, phase grows by one per wavelength, and the phase
// differs by whole numbers between opposite boundaries of the box. So a plane wave along it is periodic along every
// axis.
//
// Thread safety: a value. Cost: phase() some ns. Read star/problems/test/plane_test.cpp as an example.
#pragma once

#include <array>

#include "base/result.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

class plane_direction {
 public:
  plane_direction() = default;

  /// `turns`: number of wavelengths along each axis of the box, with sign: {1, 0, 0} is the x axis.
  /// Errors: all zero: one line that names `key`.
  static result<plane_direction> make(const std::array<int, 3>& turns, const problem_setting& box, const char* key);

  const vector& normal() const noexcept { return normal_; }
  double wavelength() const noexcept { return wavelength_; }

  /// Zero in the middle of the box; the same bits for permuted points and directions, negated for mirrored ones.
  double phase(const vector& x) const noexcept;
  /// Distance from the plane through the middle.
  double distance(const vector& x) const noexcept { return phase(x) * wavelength_; }

  /// `n` points along the axes that contribute to this direction, one along the others.
  std::array<int, 3> samples(int n) const noexcept;
  /// The part of a cell's volume on the left of a plane; `distance` is that of the cell's centre from it, positive on
  /// the right. In closed form, so the volumes on both sides sum to the whole.
  double part_on_left(const vector& width, double distance) const;

 private:
  vector centre_{}, normal_{1, 0, 0}, phase_slope_{1, 0, 0};
  double wavelength_ = 1;
};

}  // namespace plx::star
