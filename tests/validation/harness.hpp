// For the verification problems: runs an input to its end, compares with the exact solution, and keeps a table of
// results and bounds.
//
// Thread safety: one test at a time. Cost: that of the runs. Example: tests/validation/linear_wave_test.cpp
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rt/runtime.hpp"
#include "star/driver/simulation.hpp"
#include "star/problems/test/error_norms.hpp"

namespace plx::star::validation {

/// The other scheme of the hydrodynamics, for --set.
inline const std::string full3d = "hydro.scheme=full3d";

/// The runtime of all tests: two workers.
runtime& tasks();

/// A simulation with everything it needs.
class solved {
 public:
  /// inputs/<name>.toml with changes "key=value"; an invalid input, or a missing device, fails the test.
  solved(const std::string& name, const std::vector<std::string>& sets, runtime& rt = tasks());

  /// Runs from the initial state to the end.
  solved& run();
  simulation& sim() { return *sim_; }
  const simulation& sim() const { return *sim_; }
  const problem& exact() const { return *in_->problem; }
  const input& options() const { return *in_; }
  const setup& settings() const { return *setup_; }

  /// Mean over the domain of |u - exact| of a conserved variable, at the current time.
  double l1(int variable) const;
  /// All variables as one number: error_norms::l1_all().
  double l1_all() const;

 private:
  error_norms norms() const;

  std::unique_ptr<input> in_;
  std::unique_ptr<setup> setup_;
  std::unique_ptr<simulation> sim_;
};

/// Calls f(u, x, y, z, width) for each cell; variable v is u[v * cells()].
void for_cells(const gas& g, const std::function<void(const double* u, double x, double y, double z, double width)>& f);

/// Are the two states, on a uniform mesh of one block along z, mirror images about the diagonal to the last bit?
bool symmetric_about_diagonal(const gas& g);

/// log2(coarse / fine): the order of convergence when the cell width was halved.
double order_of(double coarse, double fine);

/// Formats as "[2,1,1]", for --set.
std::string array(const std::vector<double>& values);

/// Collects rows, prints them at its end, and writes them to the build folder.
class table {
 public:
  explicit table(std::string title);
  ~table();

  /// An error that must be at most `bound`.
  void at_most(const std::string& what, double error, double bound);
  /// The same, and the order relative to the coarser run's error, which must be at least `least_order`.
  void with_order(const std::string& what, double error, double coarser, double least_order);
  /// Any number that must be at least `bound`.
  void at_least(const std::string& what, double value, double bound);
  /// A condition that must hold exactly.
  void holds(const std::string& what, bool yes);
  /// A value for information.
  void note(const std::string& what, double value);

 private:
  void add(const std::string& what, const std::string& value, const std::string& order, const std::string& bound,
           bool fine);
  std::string title_;
  std::vector<std::string> lines_;
};

}  // namespace plx::star::validation
