// Everything that a run writes while and after it goes on. Inside star only; star/run.hpp is the way in.
//
// Each file appears whole or not at all; rows of tables are appended whole or not at all.
//
// On many localities each has its own of these and calls what is here in the same order. Mesh files and checkpoints are
// written by all: first the parts, then, when all are safe, by the root the file that knows them. The root alone writes
// what there is one of (run.json, tables of the physics, the log); what a locality has measured of itself it writes
// to its own folder, localities/<number>, the root to the run's. When a write fails on one, all of them get its error:
// where all are writing at once, else, by a wish, after the next step.
//
// Thread safety: none. Cost: the disk, and a sum over all cells per row of history.csv. Errors: of writing, results;
// locality_lost, thrown. Example: tests/cli/test_plx_star.py, star/run_localities_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/diagnose_log.hpp"
#include "star/agreement.hpp"
#include "star/mesh_output.hpp"
#include "star/run_folder.hpp"
#include "star/run_summary.hpp"
#include "star/trace_window.hpp"

namespace plx::mesh {
struct checkpoint;
struct checkpoint_state;
}  // namespace plx::mesh

namespace plx::star {

class exchange;
class simulation;

/// What one locality wants and all do after the next step (simulation::wish).
enum run_wish : std::uint32_t {
  wish_stop = 1,          ///< a signal has come
  wish_checkpoint = 2,    ///< it is time for one
  wish_picture = 4,       ///< somebody looks at the live page
  wish_no_more_files = 8  ///< something cannot be written
};

class run_files {
 public:
  run_files(simulation& sim, const run_request& request);

  run_folder& folder() { return folder_; }
  /// Numbers of a checkpoint that belong to the files. Call it before begin().
  result<void> restore(const mesh::checkpoint& c, const std::string& path);

  /// Keeps other processes out of the folder until this object is gone. A run that goes on in its folder takes it
  /// before it reads the checkpoint.
  result<void> lock();
  /// Folder, configuration, run.json; of a new run the first mesh file and the first row.
  result<void> begin();
  /// Is there a run.json to end with?
  bool has_begun() const { return begun_; }
  /// What this locality wants all to do after the next step.
  std::uint32_t wishes() const;
  /// What is due after a step, and what somebody wished before it.
  result<void> after_step(std::uint32_t wished);
  result<void> write_checkpoint();
  /// The last mesh file and row, profile, workers, counters, exact solution, trace, run.json.
  result<void> end(const std::string& status, const std::string& message);
  /// run.json alone, where the rest cannot be written; by one locality. Waits for nobody.
  void end_without_files(const std::string& status, const std::string& message);

  double wall_s() const;

 private:
  exchange& net() const;
  bool alone() const;
  /// The error of the first locality that has one, or that of a file of its own, on all.
  result<void> all(const result<void>& mine);
  /// What f returns; on many localities an error is kept for the next all(), and wished for.
  template <class F>
  result<void> here(F&& f);
  template <class F>
  result<void> at_root(F&& f);
  result<void> make_folders();
  result<void> write_mesh();
  result<void> write_parts_of_mesh(const std::string& path);
  result<void> write_parts_of_checkpoint(const std::string& path, const mesh::checkpoint_state& state);
  template <class Part, class Whole>
  result<void> write_together(const std::string& path, Part&& write_part, Whole&& write_whole);
  result<void> append_history();
  result<void> append_counters();
  result<void> write_profile();
  result<void> write_tasks();
  result<void> write_exact() const;
  void gather_shares();
  result<void> write_summary(const std::string& status, const std::string& message);
  result<void> cut_history() const;
  idle_rates measure_idle();
  bool mesh_is_due();
  bool is_in_place() const;
  bool is_conserved();
  bool drop_later_files();

  simulation& sim_;
  const run_request& request_;
  run_folder folder_;
  std::string measured_;          // the folder for what this locality has measured of itself
  std::optional<error> failure_;  // of a file of this locality, where others do not know it yet
  std::uint64_t mark_ = 0;        // of the last parts; all localities have the same
  run_summary summary_;
  trace_window window_;
  probe::diagnose_log diagnosis_;
  bool resumed_ = false, begun_ = false, shares_gathered_ = false;
  double begin_s_;                                              // of this process, monotonic
  double wall_before_s_ = 0.0;                                  // of the runs before this one
  std::int64_t next_mesh_ = 0;                                  // number of the next mesh file
  std::int64_t mesh_step_ = -1, history_step_ = -1;             // steps they were last written at
  std::int64_t kept_step_ = -1;                                 // of the mesh file that has the next number already
  double checked_time_ = 0.0;                                   // when mesh_is_due() was last asked
  std::int64_t rows_updates_ = 0;                               // cell updates at the last row
  double row_s_ = 0.0, counters_s_ = 0.0, checkpoint_s_ = 0.0;  // wall time of the last ones
  double diagnosed_s_ = 0.0;
  std::vector<double> start_;            // mass and energy of the initial state
  std::int64_t good_step_ = 0;           // of the last checkpoint that is_conserved() held for
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
