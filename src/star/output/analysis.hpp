// Analysis during a run: numbers that are sums, largest or smallest values over all cells, as rows of a table.
//
// `output.analysis = ["rotation", "extrema"]` selects analyses by name; each writes the table analysis_<name>.csv with
// the columns step, time and its own every `output.analysis_interval` steps, at the start and at the end. A user adds
// one as follows:
//
//   class hot_mass final : public plx::star::analysis {
//     std::vector<column> columns() const override { return {{"hot_mass", "code"}}; }
//     void of_cell(const analysis_cell& c, double* values) const override {
//       values[0] = c.state.pressure > c.state.density ? c.state.density * c.volume : 0.0;
//     }
//   };
//   const bool added = plx::star::register_analysis({"hot_mass", "mass above the temperature 1", make<hot_mass>});
//
// Thread safety: register_analysis() before the list is used for the first time; of_cell() is called by several
// workers. Cost: about 100 ns per cell and row; with a device also a copy of all values to the host. Sums are exact, so
// the rows are the same for any number of workers, localities and devices. Example: star/output/test/analysis_test.cpp
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

struct gas;

/// A cell of a block.
struct analysis_cell {
  vector centre{};      ///< code units
  double volume = 0.0;  ///< code units
  double width = 0.0;   ///< code units
  int level = 0;        ///< of its block
  primitive state;
  double energy = 0.0;  ///< total energy per volume
  equation_of_state eos;
};

class analysis {
 public:
  enum class reduction { sum, largest, smallest };
  struct column {
    std::string name, unit;
    reduction over_cells = reduction::sum;
  };
  virtual ~analysis() = default;
  virtual std::vector<column> columns() const = 0;
  /// Sets the value of a cell for each column: for sums, its contribution; for others, infinity with the opposite sign
  /// leaves the cell out. NaN makes the column NaN. Shapes: values: [columns().size()].
  virtual void of_cell(const analysis_cell& c, double* values) const = 0;
  /// The row of the table from the values of all cells, by column; for quotients such as a centre of mass.
  virtual void finish(double* /*values*/) const {}
};

struct analysis_entry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<analysis> (*make)();
};

/// All analyses, in alphabetical order.
std::span<const analysis_entry> all_analyses();
/// Adds an analysis of the user; as register_problem().
bool register_analysis(const analysis_entry& entry);
template <class Analysis>
requires std::derived_from<Analysis, analysis> std::unique_ptr<analysis> make() { return std::make_unique<Analysis>(); }
/// Errors: an unknown name: one line with the known ones.
result<std::unique_ptr<analysis>> make_analysis(std::string_view name);

/// Errors: one line: no column, a column whose name is no identifier in lower case, is `step` or `time`, or occurs
/// twice.
result<void> check_columns(std::string_view name, const analysis& a);

/// The row of an analysis. All localities call it, each in a task. Requires: the values are on the host. Errors:
/// locality_lost, thrown.
std::vector<double> analyse(const analysis& a, const gas& g, const hydro_parameters& hydro, unsigned workers);

}  // namespace plx::star
