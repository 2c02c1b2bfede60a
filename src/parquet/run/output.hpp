// The files of a run of plx-parquet.
//
//   config.toml         all options
//   iterations.csv      one row per iteration, appended as they end
//   self_energy.csv     G and Sigma of each momentum and frequency; beside exact diagonalization for up to four sites
//   susceptibility.csv  charge, spin and pairs, of each transfer
//   eigenvalues.csv     the leading eigenvalue of each channel and momentum at w = 0
//   vertex.csv          if asked for: F of all channels at w = 0
//   extrapolated.csv    Sigma at the lowest frequency and static susceptibilities for all frequencies, with errors
//   result.json         whether the runs converged, and their sizes
//   checkpoint*.h5      where the run continues (run/checkpoint.hpp)
//
// Thread safety: none. Errors: results for failed writes. Example: tests/cli/test_plx_parquet.py
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/folder_lock.hpp"
#include "num/statistics.hpp"
#include "parquet/run/checkpoint.hpp"
#include "parquet/run/options.hpp"
#include "parquet/solver/exact.hpp"

namespace plx::parquet {

class parquet_output {
 public:
  /// Creates the folder and locks it. Error: it contains the files of a run already, is in use by another process, or
  /// cannot be written.
  static result<parquet_output> create(std::string folder, const std::string& config, const parquet_options& o);
  /// Locks the folder of a run that continues. Error: it is in use.
  static result<parquet_output> reopen(std::string folder, const parquet_options& o);
  /// Continues after a checkpoint that was read under the lock: removes rows that were written after it.
  result<void> resume(const std::string& config, const parquet_checkpoint& c);
  result<void> add(int frequencies, const iteration_report& r);
  /// The tables of a solution; only converged ones enter the extrapolation.
  result<void> add(const parquet_solution& s);
  /// Writes extrapolated.csv and result.json.
  result<void> finish();
  /// The largest extrapolated value of each quantity, one line each; empty with fewer than two converged runs.
  std::string summary() const;

  const std::vector<finished_run>& finished() const noexcept { return runs_; }
  /// Sizes of the tables, whose rows are then on the disk.
  result<std::vector<std::uint64_t>> table_bytes() const;

 private:
  parquet_output(std::string folder, const parquet_options& o);
  std::string file(const char* name) const { return folder_ + "/" + name; }
  std::complex<double> exact_at(int momentum, int n) const;  // Sigma with its Hartree term
  void add_name(std::string name, double exact);
  // Numbers of frequencies of the converged runs, and the values; both are empty without any.
  std::pair<std::vector<int>, std::vector<estimate>> extrapolation() const;
  result<void> add_self_energy(const parquet_solution& s);
  result<void> add_susceptibilities(const parquet_solution& s);
  result<void> add_vertex(const parquet_solution& s);
  std::string place(int momentum) const;  // "kx,ky"

  std::string folder_;
  bool vertex_;
  std::size_t planned_;  // runs, one for each number of frequencies
  hubbard_model model_;
  std::optional<exact_result> exact_;
  std::vector<std::string> names_, exact_cells_;  // of the extrapolated values: "quantity,kx,ky" and ",exact"
  std::vector<finished_run> runs_;
  std::unique_ptr<folder_lock> lock_;
};

}  // namespace plx::parquet
