// The files of a run of plx-dca: tables of iterations, temperatures and Green's functions, and the transition.
//
//   config.toml       all options
//   iterations.csv    one row per iteration, appended as they end
//   temperatures.csv  one row per temperature: averages and eigenvalues, with errors
//   green.csv         G and Sigma of each temperature, momentum and frequency, with errors
//   momenta.csv       occupation, spin and charge correlations of each temperature and momentum, with errors
//   sites.csv         correlations of each temperature between two sites, by the vector from the one to the other
//   four_points.csv   susceptibilities and eigenvalues from functions of two particles, by temperature and transfer
//   functions/*.h5    G, Sigma, and functions of two particles of each temperature, for other programs
//   cluster.json      the cluster's vectors, sites, momenta and the shape of its patches
//   result.json       T_c with its error, and whether the run was complete
//   checkpoint.h5     the state after the last iteration, or within one that was stopped
//   checkpoint-*.h5   its functions of two particles, if they are distributed: a part by each process
//
// Thread safety: none. Errors: results for failed writes. Example: qmc/dca/test/output_test.cpp
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "io/folder_lock.hpp"
#include "qmc/dca/checkpoint.hpp"
#include "qmc/dca/dca.hpp"
#include "qmc/dca/function_parts.hpp"

namespace plx::qmc {

class dca_output {
 public:
  /// Creates the folder and locks it. Error: it contains the files of a run already, is in use by another process, or
  /// cannot be written.
  static result<dca_output> create(std::string folder, const std::string& config);
  /// Locks the folder of a run and reads its checkpoint. Error: it has none, or is in use.
  static result<dca_output> reopen(std::string folder);
  /// The one that was read; without its walkers after add(dca_state).
  const dca_checkpoint& checkpoint() const { return checkpoint_; }
  /// Whether the run that was reopened has its result, and these options add nothing to it.
  bool is_finished(const dca_options& options) const;
  /// The name of the program, for the checkpoint.
  void set_build(std::string build) { checkpoint_.build = std::move(build); }
  /// Describes the cluster.
  result<void> add(const cluster& c);
  /// Continues after the checkpoint that was read: removes rows that were written after it.
  result<void> resume(const std::string& config);
  result<void> add(const dca_iteration& i);
  result<void> add(const dca_temperature& t, const cluster& c);
  /// Writes the checkpoint, after the rows of the iteration, and removes the parts of the one before; after an error
  /// those of this state, and the checkpoint before remains.
  result<void> add(const dca_state& s);
  /// Removes parts that the last checkpoint does not name.
  void remove_unused_parts() const;
  /// For functions of two particles of the walkers of this process.
  std::shared_ptr<function_store> functions() const { return std::make_shared<function_parts>(folder_); }
  result<void> finish(const dca_outcome& o);

 private:
  explicit dca_output(std::string folder) : folder_(std::move(folder)), lock_(std::make_unique<folder_lock>()) {}
  result<void> write_checkpoint(const dca_state& s);
  result<void> add_momenta(const dca_temperature& t, const cluster& c);
  result<void> add_sites(const dca_temperature& t, const cluster& c);
  result<void> add_four_points(const dca_temperature& t, const cluster& c);
  result<void> write_functions(const dca_temperature& t, const cluster& c) const;
  std::string file(const char* name) const { return folder_ + "/" + name; }

  std::string folder_;
  std::unique_ptr<folder_lock> lock_;
  dca_checkpoint checkpoint_;
  checkpoint_parts saved_functions_;  // of the last one that was written or read
};

}  // namespace plx::qmc
