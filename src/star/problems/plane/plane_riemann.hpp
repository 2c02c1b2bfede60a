// Two uniform states separated by a plane: the Riemann problem in a box, along any direction. The problems `sod` and
// `einfeldt` are instances with their own states.
//
// Thread safety: const after prepare(). Cost: that of the exact solution, about 50 ns a point.
// Read star/problems/test/plane_riemann_test.cpp as an example.
#pragma once

#include <optional>
#include <string>

#include "star/exact/riemann.hpp"
#include "star/problems/plane/plane.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

struct plane_riemann_options {
  std::array<double, 3> left{1, 0, 1};  ///< density, velocity along the direction, pressure
  std::array<double, 3> right{0.125, 0, 0.1};
  std::array<int, 3> direction{1, 0, 0};
  double position = 0;
  bool periodic = false;
  bool species = false;

  void describe(config_table& table, const std::string& section);
};

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
