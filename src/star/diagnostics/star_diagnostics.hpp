// Numbers about the stars in a run, as rows of diagnostics.csv: masses, orbits, spins, energies, torques, unbound mass,
// gravitational waves. docs/methods.md has the formulas.
//
// Thread safety: all localities call row(), each in a task. Cost: some ten passes over all cells per row. Rows are the
// same for any number of workers and localities, with a device, and after a restart. Errors: locality_lost, thrown.
// Example: star/diagnostics/test/star_diagnostics_test.cpp
#pragma once

#include <span>
#include <string>
#include <vector>

#include "star/diagnostics/star_finder.hpp"
#include "star/diagnostics/table_column.hpp"
#include "star/driver/options.hpp"

namespace plx::star {

class star_diagnostics {
 public:
  /// Requires: all arguments outlive it; options of a run with self-gravity, prepared, and options.diagnostics.stars >
  /// 0.
  star_diagnostics(const gas& g, const input& options, const setup& s, unsigned workers);

  /// Values are in code units.
  const std::vector<table_column>& columns() const { return columns_; }
  /// The numbers of the columns for the present state. Requires: the values are on the host; the field is theirs; times
  /// increase from row to row.
  std::vector<double> row(double time, const gravity_field& field);

  /// The numbers that a checkpoint needs to continue with the same rows.
  std::vector<double> state() const;
  /// Errors: false if the numbers are those of other options; the next row is then the first.
  bool restore(std::span<const double> numbers);

  /// Time of disruption, NaN before, and the star, counted from 1.
  double disruption_time() const { return disrupted_at_; }
  int disrupted_star() const { return disrupted_star_; }

 private:
  /// Sums over the cells of a star, or over all cells.
  struct star_sums;
  struct whole_sums;
  void list_columns();
  void add_to_row(const std::vector<double>& values) { row_.insert(row_.end(), values.begin(), values.end()); }
  std::vector<star_state> estimate(double time) const;
  void sum_all(const found_stars& found, const gravity_field& gravity, std::vector<star_sums>& each,
               whole_sums& whole) const;
  void star_columns(const star_state& star, const star_sums& sums, double roche_radius, double rate);
  void pair_columns(std::size_t pair, const star_state& a, const star_state& b, double time);
  void wave_columns(const whole_sums& whole, double time);
  void look_for_disruption(const std::vector<star_state>& stars, double time);

  const gas& g_;
  const diagnostics_options& o_;
  const setup& setup_;
  std::vector<int> star_of_species_;
  unsigned workers_;
  std::vector<table_column> columns_;
  std::vector<double> row_;
  // State of the last row:
  bool has_row_ = false;
  double time_ = 0.0;
  std::vector<star_state> stars_;
  std::vector<double> first_mass_;  // by star
  std::vector<double> angle_;       // by pair: angle of the orbit since the first row, without jumps
  std::vector<double> phase_;       // by pair
  double disrupted_at_;
  int disrupted_star_ = 0;
};

}  // namespace plx::star
