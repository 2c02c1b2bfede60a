// Writes the checkpoints of a run on all of its localities.
//
// Thread safety: one task per locality; save() is collective. Cost: the disk. Errors: one line, on one locality; the
// message is empty on the others. Example: tests/net/test_parquet.py
#pragma once

#include <string>

#include "base/clock.hpp"
#include "net/team.hpp"
#include "parquet/run/checkpoint.hpp"

namespace plx::parquet {

class parquet_output;

class checkpoint_keeper {
 public:
  /// `out`: the tables, on rank 0; null on others. `last`: the checkpoint in the folder, or one with build and options
  /// alone. `interval_s`: 0: never due.
  checkpoint_keeper(std::string folder, const team& members, const parquet_output* out, parquet_checkpoint last,
                    double interval_s)
      : folder_(std::move(folder)), team_(members), out_(out), last_(std::move(last)), interval_s_(interval_s) {}

  /// On rank 0: whether the interval has passed since the last one.
  bool is_due() const { return out_ != nullptr && interval_s_ > 0 && monotonic_seconds() > written_s_ + interval_s_; }
  /// After an iteration. The previous checkpoint stays until this one is complete, or if it fails.
  result<void> save(const vertex_grid& grid, const solver_state& s);
  /// After all iterations of a number of frequencies.
  result<void> save_finished();
  /// If there is no checkpoint yet, writes one from which a run begins again.
  result<void> keep();

 private:
  result<void> write(parquet_checkpoint next);

  std::string folder_;
  team team_;
  const parquet_output* out_;
  parquet_checkpoint last_;
  double interval_s_, written_s_ = monotonic_seconds();
};

}  // namespace plx::parquet
