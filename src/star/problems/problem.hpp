// A problem: the initial state of the gas, its exact solution where known, and the options of both. One class per
// problem, listed in star/problems/registry.hpp.
//
// A problem is a function of space and time; cell averages come from it by sampling, or in closed form where a problem
// has one. Mirrored and permuted cells get the same bits: sums are exact, and coordinates are used through symmetric
// formulas only.
//
// Thread safety: const after prepare(); any thread. Cost: 1 to 10 us per cell average, at the start only.
// Read star/problems/test/problem_test.cpp as an example.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/domain.hpp"
#include "star/gravity/options.hpp"
#include "star/hydro/state.hpp"
#include "star/units/units.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

class step_module;

using vector = std::array<double, 3>;

/// The parts of the input that a problem depends on.
struct problem_setting {
  vector lower{-0.5, -0.5, -0.5}, upper{0.5, 0.5, 0.5};  ///< the box, code units
  equation_of_state eos;
  double finest_width = 0.0;              ///< of cells of mesh.max_level; 0: unknown
  units code_units{};                     ///< of [units]
  double gravity = 0.0;                   ///< gravity.constant; 0: without gravity.self
  point_mass attractor{};                 ///< that of gravity.point_mass; strength 0: none
  std::optional<mesh::domain> grid{};     ///< of [mesh]; empty: unknown
  gravity::gravity_options attraction{};  ///< of [gravity], with its constant
};

struct cell {
  vector centre{}, width{};
};

/// The cells of one block: n along each axis, with centres centre[axis][i].
struct block_cells {
  int n = 8;
  double width = 1;
  std::array<const double*, 3> centre{};
};

/// A table for people and plots: the exact solution along a line.
struct profile_table {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;
};

struct named_value {
  std::string name, unit;
  double value = 0;
};

class problem {
 public:
  virtual ~problem() = default;
  problem() = default;
  problem(const problem&) = delete;
  problem& operator=(const problem&) = delete;

  /// Binds the options, keys "<problem>.<option>".
  virtual void describe(config_table& table) = 0;

  /// Sets options and domain; call it once, before the functions below.
  /// Errors: values that do not fit each other or the box: one line.
  result<void> prepare(const problem_setting& setting);
  const problem_setting& setting() const noexcept { return setting_; }

  /// Do the problem's formulas hold for an ideal gas only? prepare() refuses others then.
  virtual bool needs_ideal_gas() const { return false; }

  /// Number of species that the problem carries; their fractions sum to one.
  virtual int species_count() const { return 0; }
  /// The star that each species belongs to, counted from 0; -1: none. Diagnostics find the stars by their species in
  /// the first row. By default each species is a star.
  virtual std::vector<int> star_of_species() const;

  /// Number of stars of the initial state, for tracers that begin in them; 0: none are known.
  virtual int star_count() const { return 0; }
  /// The star at a point of the initial state, counted from 0; -1: none. May build().
  virtual int star_at(const vector&) const { return -1; }

  /// Computes what takes longer than options and checks, such as a model of stars, once: at the start of a run, by a
  /// task, and not where a run is resumed. Without it, the functions below call it. Errors: one line.
  virtual result<void> build() const { return {}; }
  /// Lines about it for the log of a run; none before build().
  virtual std::vector<std::string> notes() const { return {}; }
  /// The angular velocity about the z axis of a frame in which the state rests, for frame.of_problem. May build().
  /// Errors: one line: the problem has none.
  virtual result<double> frame_velocity() const;
  /// The period of the orbit, or of the rotation, of the initial state, for run.time_unit. May build(). Errors: one
  /// line: the problem has none.
  virtual result<double> orbital_period() const;

  /// The state at a point. Requires: t == 0, or has_exact(t).
  virtual primitive at(const vector& x, double t) const = 0;

  /// Is the solution at this time known?
  virtual bool has_exact(double t) const { return t == 0; }

  /// Conserved values of a cell, averaged: u[v * stride], v < variable_count(species_count()). The entropy tracer is
  /// that of the averaged state.
  virtual void average(const cell& c, double t, double* u, std::ptrdiff_t stride) const;

  /// The exact solution at time t along a representative line; without columns if it is not known.
  virtual profile_table exact_profile(double t) const;

  /// Numbers for comparison with a run, such as a shock's radius or a growth rate.
  virtual std::vector<named_value> references(double t) const;

  /// Source terms and other additional physics of the problem (star/step/gas_step.hpp), which live as long as the
  /// problem. Called after prepare().
  virtual std::vector<const step_module*> modules() const { return {}; }

  /// The state of the gas at an inflow boundary (x lower, x upper, y lower, ...): the initial state at its middle.
  virtual primitive inflow(int face) const;

  /// Is the state beyond a boundary known up to this time? It is if the solution is.
  virtual bool gives_outside(int face, double t_end) const;
  /// The state at a point beyond a boundary, or nothing if the boundary is a reflecting wall there. Requires:
  /// gives_outside(face, t).
  virtual std::optional<primitive> outside(int face, const vector& x, double t) const;

 protected:
  virtual result<void> do_prepare() { return {}; }

  /// Points along each axis that average() uses in this cell: 1, or 2, 4, 8, 16 (pairs of Gauss points in equal parts).
  virtual std::array<int, 3> samples(const cell& c, double t) const;

  const equation_of_state& eos() const { return setting_.eos; }
  /// The state at a point, for to_conserved(). Errors: std::invalid_argument, thrown: a density that is not positive,
  /// or a pressure not above that of cold gas.
  const primitive& valid(const primitive& w, const vector& x) const;
  /// Internal energy of conserved values: total minus kinetic, with the rounding of to_conserved() and of the kernels,
  /// so that a constant state stays constant.
  static double internal_energy(const double* u, std::ptrdiff_t stride);
  /// Errors: one line with the key: a mass that looks like grams, or a length that looks like centimetres, where code
  /// units are expected. Requires: a problem of stars, with a box of their size.
  result<void> check_mass(const std::string& key, double mass) const;
  result<void> check_length(const std::string& key, double length) const;
  vector box_centre() const;
  vector box_width() const;

 private:
  problem_setting setting_;
};

/// Averages of a block's cells, u: [variable][k][j][i].
void fill_block(const problem& p, const block_cells& cells, double t, double* u);

}  // namespace plx::star
