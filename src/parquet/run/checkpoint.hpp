// The checkpoint of a run of plx-parquet: checkpoint.h5, written by one locality, and the vectors of a run that is
// under way in parts, checkpoint-MARK-RANK.h5, one for each locality. checkpoint.h5 names its parts; it replaces the
// previous one when all of them are on the disk, and only then are the previous parts removed. Any number of localities
// reads them: each opens the parts that have its slabs.
//
// Thread safety: any task; HDF5 is used by one at a time. Cost: the disk; up to 2 history + 1 vectors. Errors: one line
// each: a missing, truncated or damaged file, one of another version or checkpoint, a full disk.
// Example: parquet/run/test/checkpoint_test.cpp
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/checkpoint_parts.hpp"
#include "parquet/run/options.hpp"
#include "parquet/solver/solver.hpp"

namespace plx::parquet {

/// A run of one number of frequencies that has ended.
struct finished_run {
  int frequencies = 0, iterations = 0;
  bool converged = false;
  double residual = 0, density = 0;
  leading largest;             // eigenvalue of all channels and momenta
  std::vector<double> values;  // those that are extrapolated
};
/// The run of a solution, without values.
finished_run run_of(const parquet_solution& s);
/// One line if a converged run lies beyond an instability, its largest eigenvalue above 1; otherwise empty.
std::string warning_of(const finished_run& run, const qmc::cluster& lattice);

struct parquet_checkpoint {
  std::string build;    // the program that wrote it, for people
  std::string options;  // all of them, as TOML
  std::vector<std::uint64_t> table_bytes;
  std::vector<finished_run> finished;
  std::vector<double> present;  // solver_state::numbers of the next run; empty: it has not begun
  checkpoint_parts parts;       // of its vectors; their items are slabs
};

/// In the folder of a run.
std::string checkpoint_file(const std::string& folder);

result<void> write_parquet_checkpoint(const std::string& folder, const parquet_checkpoint& c);
result<parquet_checkpoint> read_parquet_checkpoint(const std::string& folder);
/// Writes a part; returns its checksum.
result<std::uint64_t> write_checkpoint_part(const std::string& folder, std::uint64_t mark, std::size_t index,
                                            const vertex_grid& grid, const solver_state& s);

/// The state of the run under way. All arguments must outlive it. Requires: c.present is not empty.
class checkpoint_reader final : public saved_solver_state {
 public:
  checkpoint_reader(std::string folder, const parquet_checkpoint& c, const vertex_grid& grid)
      : folder_(std::move(folder)), checkpoint_(c), grid_(grid) {}
  const std::vector<double>& numbers() const override { return checkpoint_.present; }
  result<void> read(int first_slab, int last_slab,
                    const std::vector<std::span<std::complex<double>>>& vectors) const override;

 private:
  std::string folder_;
  const parquet_checkpoint& checkpoint_;
  const vertex_grid& grid_;
};

/// Options of a checkpoint with assignments "key=value" applied. Error: one line: an assignment, or the config.toml of
/// the folder, differs from the checkpoint in more than how the run is made.
result<parquet_options> options_of_resumed(const std::string& folder, const parquet_checkpoint& c,
                                           const std::vector<std::string>& sets);

}  // namespace plx::parquet
