// Everything that a run writes while and after it goes on. Inside star only; star/run.hpp is the way in.
//
// Each file appears whole or not at all; rows of tables are appended whole or not at all.
// Thread safety: none. Cost: the disk, and a sum over all cells per row of history.csv. Example:
// tests/cli/test_plx_star.py
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "star/run_folder.hpp"
#include "star/run_summary.hpp"
#include "star/simulation.hpp"

namespace plx::star {

class run_files {
 public:
  run_files(simulation& sim, const run_request& request);

  run_folder& folder() { return folder_; }
  /// Numbers of a checkpoint that belong to the files. Call it before begin().
  result<void> restore(const mesh::checkpoint& c, const std::string& path);

  /// Folder, configuration, run.json; of a new run the first mesh file and the first row.
  result<void> begin();
  /// What is due after a step.
  result<void> after_step();
  result<void> write_checkpoint();
  /// The last mesh file and row, profile, workers, counters, exact solution, trace, run.json.
  result<void> end(const std::string& status, const std::string& message);
  /// run.json alone, where the rest cannot be written.
  void end_without_files(const std::string& status, const std::string& message);

  double wall_s() const;

 private:
  result<void> write_mesh();
  result<void> append_history();
  result<void> append_counters();
  result<void> write_profile();
  result<void> write_workers() const;
  result<void> write_exact() const;
  result<void> write_summary(const std::string& status, const std::string& message);
  result<void> cut_history() const;
  std::vector<double> idle_rates();
  bool mesh_is_due() const;

  simulation& sim_;
  const run_request& request_;
  run_folder folder_;
  run_summary summary_;
  bool resumed_ = false;
  double begin_s_;                                              // of this process, monotonic
  double wall_before_s_ = 0.0;                                  // of the runs before this one
  std::int64_t next_mesh_ = 0;                                  // number of the next mesh file
  std::int64_t mesh_step_ = -1, history_step_ = -1;             // steps they were last written at
  std::int64_t rows_updates_ = 0;                               // cell updates at the last row
  double row_s_ = 0.0, counters_s_ = 0.0, checkpoint_s_ = 0.0;  // wall time of the last ones
  std::vector<double> idle_s_, used_s_;                         // per worker, at the last mesh file
};

}  // namespace plx::star
