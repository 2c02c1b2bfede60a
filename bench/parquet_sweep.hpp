// Iterations of the 2x2 cluster between two processes, under one setting of coalescing after the other.
//
// Thread safety: called by one task of each locality. Cost: that of the iterations.
// Example: tools/tests/test_bench_parquet.py
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx {
class job;
}
namespace plx::bench {

struct sweep_options {
  std::string part = "parquet", csv;  // csv: empty: stdout
  std::vector<unsigned> sizes = {64};
  std::vector<std::string> settings;
  unsigned turns = 1, first_turn = 0, iterations = 3;
};

/// Reads `--sizes N,N,... --settings 'A B ...' --turns N --first-turn N --iterations N --part NAME --csv FILE`.
/// Error: one line.
result<sweep_options> read_sweep(std::span<const std::string> words);

/// Appends a line per setting and turn, with the columns of bench/coalescing: medians of an iteration after the first
/// one under the setting; of adaptive, after its first second; all localities together. Collective. Returns the exit
/// code: 2, with one line, on all localities if the root cannot write the file. Throws on other errors, which ends the
/// job.
int sweep_parquet(job& j, const sweep_options& o);

}  // namespace plx::bench
