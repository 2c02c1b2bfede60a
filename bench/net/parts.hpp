// The parts of this program. Those that need two processes are called in each process of a job of two: the root
// measures and reports, alternating between Parallax and the library it is compared with, so that both see the same
// machine.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "report.hpp"

namespace plx {
class job;
namespace bench {
class raw_mpi;
}
}  // namespace plx

namespace plx::bench {

/// The environment of a part inside a job.
struct inside {
  job& j;
  report& rows;         ///< used by the root
  raw_mpi* mpi;         ///< for all_reduce; null without MPI
  std::string suffix;   ///< suffix of the row names
  bool quick = false;   ///< only checks that the part runs
  int calls = 400'000;  ///< of each sender of a flood

  double until_s = 0;  ///< on the monotonic clock: no further turns after this time

  /// Whether turn number `turn`, from 0 on, of `most` is still to run. There are at least three.
  [[nodiscard]] bool more(int turn, int most) const {
    return turn < (quick ? 3 : most) && (turn < 3 || monotonic_seconds() < until_s);
  }
};

void cost(report& r, bool quick);   // in one process
void timer(report& r, bool quick);  // the same

void round_trip(inside& in);
void rates(inside& in);
void bandwidth(inside& in);
void all_reduce(inside& in);
void large_all_reduce(inside& in);  // large_all_reduce.cpp
void checkpoint(inside& in);        // checkpoints.cpp
void flood(inside& in);
void put(inside& in);      // one_sided.cpp
void atomics(inside& in);  // the same

}  // namespace plx::bench
