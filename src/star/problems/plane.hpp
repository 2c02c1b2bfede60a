// Problems that vary along one direction through the box: the direction, and two uniform states that a plane separates.
//
// Thread safety: const after prepare(). Cost: that of the exact solution, about 50 ns a point.
// Read star/problems/test/plane_test.cpp and plane_riemann_test.cpp as examples.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "star/exact/shocks.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

/// A direction through the box in which planes repeat: along it, phase grows by one per wavelength, and the phase
/// differs by whole numbers between opposite boundaries of the box. So a plane wave along it is periodic along every
/// axis.
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

struct plane_riemann_options {
  std::array<double, 3> left{1, 0, 1};  ///< density, velocity along the direction, pressure
  std::array<double, 3> right{0.125, 0, 0.1};
  std::array<int, 3> direction{1, 0, 0};
  double position = 0;
  bool periodic = false;
  bool species = false;

  void describe(config_table& table, const std::string& section);
};

/// Two uniform states separated by a plane: the Riemann problem in a box, along any direction. The problems `sod` and
/// `einfeldt` are instances with their own states.
class plane_riemann : public problem {
 public:
  plane_riemann(std::string section, std::string title, const plane_riemann_options& defaults);

  void describe(config_table& table) override;
  int species_count() const override { return options_.species ? 2 : 0; }
  primitive at(const vector& x, double t) const override;
  /// Ideal and stiffened gases. Periodic: until the waves of the two planes meet.
  bool has_exact(double t) const override;
  void average(const cell& c, double t, double* u, std::ptrdiff_t stride) const override;
  profile_table exact_profile(double t) const override;
  std::vector<named_value> references(double t) const override;

  const riemann_solution& solution() const { return *solution_; }

 protected:
  result<void> do_prepare() override;
  std::array<int, 3> samples(const cell& c, double t) const override;

 private:
  struct place {
    double distance;  // from the discontinuity, positive on the right
    bool mirrored;    // the left of two planes: right and left are exchanged
  };
  place locate(const vector& x) const;
  primitive side(bool is_left, bool mirrored) const;
  primitive turned(const gas_state& s, bool from_left, bool mirrored) const;

  std::string section_, title_;
  plane_riemann_options options_;
  plane_direction direction_;
  std::optional<riemann_solution> solution_;
};

}  // namespace plx::star
