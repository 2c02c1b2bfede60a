// All options of a run: one struct per part, bound to one configuration table.
//
// Thread safety: values; an input belongs to one thread until it is const. Cost: reading a small file, once.
// Example: star/driver/test/options_test.cpp
//
//   auto in = input::from_file("inputs/sedov.toml", {"mesh.max_level=4"});   // result: one line about an error
//   auto setup = in.value()->prepare();                                      // checked, as input of the stages
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"
#include "mesh/tree/domain.hpp"
#include "star/gravity/options.hpp"
#include "star/hydro/options.hpp"
#include "star/hydro/species.hpp"
#include "star/output/series/series_list.hpp"
#include "star/problems/problem.hpp"
#include "star/refine/refinement.hpp"
#include "star/sources/options.hpp"
#include "star/units/units.hpp"

namespace plx {
class config_table;
}

namespace plx::star {

class step_module;

/// Section [run]: when to end, and on which hardware to run.
struct run_options {
  double t_end = 1.0;
  std::int64_t max_steps = 0;                                                 ///< 0: no limit
  double wall_limit_s = 0.0;                                                  ///< of this process; 0: no limit
  double dt_first_factor = 1.0, dt_growth = 0.0, dt_min = 0.0, dt_max = 0.0;  ///< star/device/data/step_data.hpp
  std::string time_unit = "code";   ///< of these times, and those of [output] and [driving]; or "orbit"
  std::int64_t retries = 4;         ///< of a step that fails
  double conservation_limit = 0.1;  ///< largest ledger_row::relative_error() of mass or energy; 0: none
  std::string device =
      "cpu";  ///< or a device (star/runners/device_course.hpp); "emulated": the device's kernels on the CPU
  /// Errors: one line about values that do not fit together.
  result<void> check() const;

  void describe(config_table& table);
};

/// Section [diagnostics]: which numbers about the stars are written, and what counts as a star.
struct diagnostics_options {
  std::int64_t stars = 0;        ///< number of stars; 0: no diagnostics
  std::int64_t interval = 10;    ///< steps between rows
  double star_density = 1e-5;    ///< of a star's cells, at least, over the largest density of the star
  double star_reach = 1.5;       ///< largest distance of a star's cells from its centre, in Roche radii
  double disrupted_below = 0.5;  ///< share of its first mass below which a star counts as disrupted
  double distance_pc = 10000.0;  ///< of the observer of gravitational waves

  void describe(config_table& table);
};

/// Section [light_curve]: the luminosity as seen from afar (star/diagnostics/light_curve.hpp).
struct light_curve_options {
  std::int64_t interval = 0;   ///< steps between rows; 0: none
  double opacity = 0.34;       ///< cm^2/g
  double least_density = 0.0;  ///< code units: of gas that absorbs and emits
  std::vector<std::string> directions{"+x", "-x", "+y", "-y", "+z", "-z"};  ///< of the observers

  void describe(config_table& table);
  /// `kelvin`: setup::kelvin. Errors: one line: no temperatures in kelvin, a domain that is not isolated, or directions
  /// that are unknown, repeated or none.
  result<void> check(double kelvin, const mesh::domain& box) const;
};

/// Section [tracers]: points that move with the gas.
struct tracer_options {
  std::int64_t number = 0;         ///< 0: none
  std::string placement = "mass";  ///< or "stars", "volume"

  void describe(config_table& table);
  /// Errors: one line: a placement by stars of a problem without stars.
  result<void> check(const problem& p) const;
};

/// Section [output]: which files are written when. None of it affects the physics.
struct output_options {
  double mesh_interval = 0.0;            ///< run.time_unit, between mesh files; 0: the first and the last only
  std::int64_t history_interval = 1;     ///< steps
  std::vector<std::string> analysis;     ///< names (star/output/analysis.hpp)
  std::int64_t analysis_interval = 10;   ///< steps
  double counters_interval_s = 1.0;      ///< wall time between samples of the counters
  double checkpoint_interval_s = 600.0;  ///< wall time; 0: only at the end
  bool checkpoint_at_end = true;
  std::int64_t checkpoints_kept = 2;
  bool mesh_at_start = true;
  std::string precision = "single";    ///< of the values in mesh files
  std::vector<series_options> series;  ///< further files, [[output.series]]

  /// Errors: one line about values that do not fit the end of the run.
  result<void> check(double t_end) const;
  /// The interval of time at whose multiples files are due; 0: none, empty: several, not known in advance.
  std::optional<double> wait_interval() const;
  void describe(config_table& table);
};

/// Input of the stages of a run; made by input::prepare(). `sides` refers to the input's problem.
struct setup {
  mesh::domain domain;
  hydro_parameters hydro;
  integrator scheme{};
  double cfl = 0.9;
  mesh::boundary_values sides;
  units code_units;
  std::vector<const step_module*> modules;  ///< additional physics; they outlive what is made of the setup
  double gravitational_constant = 0.0;      ///< code units; 0: none is known
  double time_unit = 1.0;                   ///< run.time_unit in code time
  double kelvin = 0.0;  ///< kelvin per code unit of equation_of_state::gas_temperature(), or of that times the mean
                        ///< weight of the species if they have weights; 0: unknown
  species_list species{};
};

class input {
 public:
  /// Reads `path`, then applies `sets` ("key=value") in order. Knows the options of the selected problem too.
  /// Errors: one line; see config_table.
  static result<std::unique_ptr<input>> from_file(const std::string& path, const std::vector<std::string>& sets);
  /// The same for text; messages call it `name`.
  static result<std::unique_ptr<input>> from_text(std::string_view text, const std::string& name,
                                                  const std::vector<std::string>& sets);
  /// All options at their defaults.
  static result<std::unique_ptr<input>> of_problem(const std::string& problem);
  /// The options of all problems, for lists.
  static std::string text_options();
  static std::string markdown();

  input(const input&) = delete;
  input& operator=(const input&) = delete;

  /// Checks combinations of options, and passes the domain to the problem. Call it once, before the problem is used.
  result<star::setup> prepare();

  std::string problem_name;
  run_options run;
  mesh::mesh_options grid;
  hydro_options hydro;
  species_options species;
  gravity::gravity_options gravity;
  gravity::point_mass_options point_mass;
  driving_options driving;
  frame_options frame;
  refinement_options refinement;
  diagnostics_options diagnostics;
  light_curve_options light;
  tracer_options tracers;
  output_options output;
  unit_options units;
  std::unique_ptr<star::problem> problem;
  config_table table;

 private:
  std::vector<std::shared_ptr<const step_module>> modules_;  // of [gravity], [driving] and [frame]

  input() = default;
  static result<std::unique_ptr<input>> make(const std::string& problem);
  result<void> apply(const std::vector<std::string>& sets);
  void describe();
};

/// May the key's value differ between a checkpoint and the run that continues it? True of [run], [output] and
/// [diagnostics].
bool may_change_on_resume(std::string_view key);

/// The options that a run must share with the checkpoint it continues, as text, those that affect the physics: one line
/// "key = value" for each key for which may_change_on_resume() is false.
std::string identity_of(const config_table& table);

}  // namespace plx::star
