// Decides when a deterministic runtime may continue, where several of them share one process, one clock and one seed:
// only one of them runs at a time.
//
// Thread safety: each runtime has its own conductor, which only its own thread calls. Cost: a virtual call per
// scheduling step of the deterministic mode; none elsewhere. Example: net/sim/sim_scheduler.hpp implements it.
#pragma once

#include <string>

#include "base/clock.hpp"

namespace plx::detail {

/// Passed to a runtime by runtime_options::conducted_by. The clock is the virtual one: nanoseconds.
class conductor {
 public:
  virtual ~conductor() = default;
  /// A run begins. Returns when it is the caller's turn.
  virtual void begin(ticks& now) = 0;
  /// Between two steps: others may have their turn before it returns. False: the run ends.
  virtual bool turn(ticks& now) = 0;
  /// No task of this runtime can continue before `deadline` (timer_queue::never: no timer) without outside input.
  /// `polled`: a poller has requested an early call. True: check for work again. False: no runtime can continue, and
  /// the run ends.
  virtual bool idle(ticks deadline, bool polled, ticks& now) = 0;
  /// The name of this run in a deadlock report, such as "seed 7, locality 2".
  [[nodiscard]] virtual std::string title() const = 0;
};

}  // namespace plx::detail
