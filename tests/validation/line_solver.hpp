// A reference solution in one dimension, for problems without an exact one: the Euler equations of an ideal gas along a
// line, or along the radius around an axis or a point, on a fine uniform mesh. It shares no code with the simulation.
//
// Second order: piecewise linear in primitive variables (monotonized central slopes), HLLC fluxes, Runge-Kutta of two
// stages, the geometry as a source term.
//
// Thread safety: none. Cost: some 100 ns per cell and stage. Source: Toro (2009), chapters 10, 14 and 17.
// Example: tests/validation/line_problems_test.cpp
#pragma once

#include <array>
#include <functional>
#include <vector>

namespace plx::star::validation {

class line_solver {
 public:
  using state = std::array<double, 3>;  ///< density, velocity, pressure
  enum class end { open, wall };

  /// `dimensions` 1: a line; 2, 3: the radius from an axis or a point. Cells from `lower` to `upper`.
  line_solver(int dimensions, double lower, double upper, int cells, double gamma, std::array<end, 2> ends,
              const std::function<state(double)>& initial);

  void run(double t_end);
  /// The mean density from a to b, of the cells whose centres are there; that at the nearest cell if there are none.
  double density(double a, double b) const;

 private:
  void add_ghosts();
  void stage(double dt);
  double largest_rate() const;
  state primitive(const std::array<double, 3>& u) const;
  std::array<double, 3> conserved(const state& w) const;
  std::array<double, 3> flux(const state& left, const state& right) const;

  int dimensions_, cells_;
  double lower_, dx_, gamma_;
  std::array<end, 2> ends_;
  std::vector<std::array<double, 3>> u_;  // [cells + 4]: two ghost cells at each end
  std::vector<state> w_;
};

}  // namespace plx::star::validation
