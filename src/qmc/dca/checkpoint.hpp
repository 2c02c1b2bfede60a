// The checkpoint of a run of plx-dca: a file that appears complete or not at all, and from which the run continues
// with the same bits.
//
// Thread safety: any task; HDF5 is used by one at a time. Cost: the disk. Errors: one line each: a missing, truncated
// or damaged file, one of another version, a full disk, options that do not fit. Example:
// tests/cli/test_plx_dca_resume.py
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "qmc/dca/dca.hpp"
#include "qmc/dca/options.hpp"

namespace plx::qmc {

struct dca_checkpoint {
  std::string build;    // the program that wrote it, for people
  std::string options;  // all of them, as TOML
  dca_state state;
  std::vector<std::uint64_t> table_bytes;  // of the tables of dca_output, when it was written
};

result<void> write_dca_checkpoint(const std::string& path, const dca_checkpoint& c);
result<dca_checkpoint> read_dca_checkpoint(const std::string& path);

/// Checks that a checkpoint is of the run whose options are in the file; no file: it is. Error: one line: an option
/// that a resumed run cannot change differs.
result<void> check_same_run(const dca_checkpoint& c, const std::string& config);

/// Options of a checkpoint with assignments "key=value" applied. Only temperatures and numbers of iterations that the
/// checkpoint has not reached may change. Error: one line with the key.
result<dca_options> options_of_resumed(const dca_checkpoint& c, const std::vector<std::string>& sets);

}  // namespace plx::qmc
