// All files that a run writes. Private to star; star/driver/run.hpp is the interface.
//
// Each file appears complete or not at all; rows of tables are appended complete or not at all.
//
// With several localities each has its own run_files, and all call the same functions in the same order. Mesh files and
// checkpoints are written by all: first the parts; when all parts are on disk, the root writes the file that refers to
// them. The root alone writes the files that exist once per run (run.json, tables of the physics, the log).
// Measurements of a locality go to its own folder, localities/<number>; the root's go to the run's folder. When a write
// fails on one locality, all of them get its error: at once if all are writing, otherwise, by a request, after the next
// step.
//
// Thread safety: none. Cost: the disk, and a sum over all cells per row of history.csv. Errors: results for failed
// writes;
// locality_lost, thrown. Example: tests/cli/test_plx_star.py, star/driver/test/run_localities_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/run_json.hpp"
#include "star/driver/agreement.hpp"
#include "star/driver/run.hpp"
#include "star/output/analysis.hpp"
#include "star/output/ledger.hpp"
#include "star/output/run_folder.hpp"
#include "star/output/series/series_list.hpp"
#include "star/output/series/variables.hpp"
#include "star/problems/problem.hpp"

namespace plx::mesh {
struct checkpoint;
struct checkpoint_state;
}  // namespace plx::mesh

namespace plx::probe {
class diagnose_log;
}

namespace plx::star {

class gravity_field;
class simulation;
class light_curve;
class star_diagnostics;
class trace_window;

/// A request of one locality that all carry out after the next step (simulation::wish).
enum run_wish : std::uint32_t {
  wish_stop = 1,           ///< a signal has arrived
  wish_checkpoint = 2,     ///< a checkpoint is due
  wish_picture = 4,        ///< the live page has a viewer
  wish_no_more_files = 8,  ///< a file could not be written
  wish_series = 16         ///< a file of an output series is due by wall time
};

/// The configuration, size and end of a run, as one JSON object: run.json.
struct run_summary {
  std::string problem, status = "running", message, started = utc_now();
  machine_facts machine = this_machine();
  process_facts process = this_process();  ///< the root's
  unsigned workers = 0;                    ///< of this locality
  int localities = 1;
  double wall_s = 0.0, simulation_s = 0.0, time = 0.0, measurement_cost_percent = 0.0;
  std::int64_t steps = 0, cells = 0, blocks = 0, cell_updates = 0, resumed_at_step = -1;
  units code_units;
  double kelvin = 0.0;                  ///< setup::kelvin
  std::string conservation;             ///< ledger::json()
  std::vector<named_value> references;  ///< known numbers of the exact solution at this time

  std::string json(const run_request& request) const;
};

/// Fractions of time without work, 0 to 1.
struct idle_rates {
  std::vector<double> workers;
  double locality = 0.0;  ///< of all its workers together
};

struct mesh_content {
  std::vector<output_variable> variables;
  bool single_precision = true;
  const gravity_field* gravity = nullptr;  ///< if need_gravity(variables)
};

class run_files {
 public:
  run_files(simulation& sim, const run_request& request);
  ~run_files();

  run_folder& folder() { return folder_; }
  /// Restores the numbers in a checkpoint that belong to the files. Call it before begin().
  result<void> restore(const mesh::checkpoint& c, const std::string& path);

  /// Keeps other processes out of the folder while this object exists. A run that resumes in its folder calls it before
  /// it reads the checkpoint.
  result<void> lock();
  /// Makes the folder, the configuration and run.json; for a new run also the first mesh file and the first row.
  result<void> begin();
  /// Has run.json been written?
  bool has_begun() const { return begun_; }
  /// Requests of this locality to all, for the end of the next step.
  std::uint32_t wishes() const;
  /// Writes what is due after a step, and what any locality requested before it.
  result<void> after_step(std::uint32_t wished);
  result<void> write_checkpoint();
  /// Writes the last mesh file and row, profile, workers, counters, exact solution, trace, run.json.
  result<void> end(const std::string& status, const std::string& message);
  /// Writes run.json alone, if the rest cannot be written; by one locality, without waiting for others.
  void end_without_files(const std::string& status, const std::string& message);

  /// Wall time since the start, including runs before a resume; that of this process alone.
  double wall_s() const;
  double wall_of_process_s() const;
  /// Ends a run whose mass or energy floors have changed by more than run.conservation_limit. After a row of
  /// history.csv has been written. Collective. Errors: one line.
  result<void> check_conservation() const;
  /// The ledger at the last row of history.csv, after end() at the end, as lines of text.
  std::string conservation() const { return ledger_.text(); }

 private:
  step::exchange& net() const;
  bool alone() const;
  /// Returns on all localities the error of the first that has one; considers failure_, too.
  result<void> all(const result<void>& mine);
  /// Returns f(); with several localities an error is kept for the next all() and a request is made.
  template <class F>
  result<void> here(F&& f);
  template <class F>
  result<void> at_root(F&& f);
  result<void> make_folders();
  result<void> write_mesh();
  result<void> write_mesh_to(const std::string& path, const mesh_content& content, const idle_rates& idle);
  result<void> write_parts_of_mesh(const std::string& path, const mesh_content& content, const idle_rates& idle);
  /// After a step from time `before` on.
  result<void> write_due_series(double before, std::uint32_t wished);
  result<void> write_all_series();
  result<void> write_series(output_series& s);
  result<void> write_pixels(const std::string& path, const output_series& s, const gravity_field* gravity);
  result<void> write_shells(const std::string& path, const output_series& s, const gravity_field* gravity);
  result<void> write_tracers(const std::string& path, const output_series& s, const gravity_field* gravity);
  result<void> write_parts_of_checkpoint(const std::string& path, const mesh::checkpoint_state& state);
  template <class Part, class Whole>
  result<void> write_together(const std::string& path, Part&& write_part, Whole&& write_whole);
  result<void> append_history();
  result<void> append_analyses();
  result<void> append_diagnostics();
  result<void> append_light();
  result<void> write_columns() const;
  result<void> append_counters();
  result<void> write_profile();
  result<void> write_tasks();
  result<void> write_exact() const;
  result<void> write_summary(const std::string& status, const std::string& message);
  static constexpr const char* last_row_of = "last_row_";  // and a table: names of numbers in checkpoints
  static constexpr const char* history_table = "history.csv";
  /// Does the table have a row of this step?
  bool has_row(const std::string& table) const;
  /// The tables that this run appends to, each with its line of names.
  std::vector<std::pair<std::string, std::string>> tables() const;
  /// Tables in the folder, each with the bytes that stay when the run continues. Error: one has other columns, or lacks
  /// rows from before the checkpoint.
  using kept_bytes = std::map<std::string, std::size_t>;
  result<kept_bytes> kept_tables() const;
  void forget_moved_tables(const kept_bytes& kept);
  result<void> sync_tables() const;
  idle_rates measure_idle();
  bool mesh_is_due();
  bool is_in_place() const;
  ledger::values ledger_values(const std::vector<double>& totals) const;
  void take_rotation();
  /// Warns, once per process, when a hundredth of the initial mass has flowed in, less what flowed out, and
  /// zero_gradient sides let it in.
  void warn_of_inflow();
  /// Did the row of this step show a change above run.conservation_limit?
  bool is_over_limit() const;
  bool drop_later_files();

  simulation& sim_;
  const run_request& request_;
  run_folder folder_;
  std::string measured_;          // folder for this locality's measurements
  std::optional<error> failure_;  // of a file of this locality, until the others know it
  std::uint64_t mark_ = 0;        // mark of the last parts; the same on all localities
  run_summary summary_;
  series_list series_;
  std::unique_ptr<trace_window> window_;
  std::unique_ptr<probe::diagnose_log> diagnosis_;
  bool resumed_ = false, begun_ = false;
  double begin_s_;                                              // of this process, monotonic
  double wall_before_s_ = 0.0;                                  // of the runs before this one
  std::int64_t next_mesh_ = 0;                                  // number of the next mesh file
  std::int64_t mesh_step_ = -1;                                 // step it was last written at
  std::int64_t kept_step_ = -1;                                 // step of the mesh file that already has the next
                                                                // number
  std::vector<std::unique_ptr<analysis>> analyses_;             // of output.analysis
  std::unique_ptr<star_diagnostics> diagnostics_;               // with diagnostics.stars
  std::unique_ptr<light_curve> light_;                          // with light_curve.interval
  std::map<std::string, std::int64_t> last_rows_;               // steps of the last rows, by table
  double checked_time_ = 0.0;                                   // time of the last call of mesh_is_due()
  std::int64_t rows_updates_ = 0;                               // cell updates at the last row
  double row_s_ = 0.0, counters_s_ = 0.0, checkpoint_s_ = 0.0;  // wall time of the last ones
  double diagnosed_s_ = 0.0;
  ledger ledger_;
  bool warned_of_inflow_ = false;
  std::int64_t good_step_ = 0;           // of the last checkpoint with relative_error() up to a tenth
  std::vector<double> idle_s_, used_s_;  // per worker, at the last mesh file
};

template <class F>
result<void> run_files::here(F&& f) {
  if (failure_) return {};
  result<void> r = std::forward<F>(f)();
  if (r || alone()) return r;
  failure_ = r.error();
  return {};
}

template <class F>
result<void> run_files::at_root(F&& f) {
  return is_root(net()) ? here(std::forward<F>(f)) : result<void>();
}

}  // namespace plx::star
