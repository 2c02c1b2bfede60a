// The parts of this program. Those that need two processes are called in each process of a job of two: the root
// measures and reports, alternating between Parallax and what it is compared with, so that both see the same machine.
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

/// What a part has inside of a job.
struct inside {
  job& j;
  report& rows;        ///< the root's
  raw_mpi* mpi;        ///< of all_reduce; null where there is none
  std::string suffix;  ///< of the rows' names
  bool quick = false;  ///< does it run at all?

  double until_s = 0;  ///< on the monotonic clock: turns end then, however many there were

  /// Whether the turn with this number, from 0 on, is still to come; of `most`. At least three are.
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

}  // namespace plx::bench
