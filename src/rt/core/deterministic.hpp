// Who decides when a deterministic runtime may go on, where several of them share one process, one clock and one seed:
// only one of them runs at a time.
//
// Thread safety: each runtime has a conductor of its own, which its own thread alone calls. Cost: a virtual call per
// scheduling step of the deterministic mode; none elsewhere. Example: net/sim/stage.hpp implements it.
#pragma once

#include <string>

#include "base/clock.hpp"

namespace plx::detail {

/// Told to a runtime by runtime_options::conducted_by. The clock is the virtual one: nanoseconds.
class conductor {
 public:
  virtual ~conductor() = default;
  /// A run begins. Returns when it is the caller's turn.
  virtual void begin(ticks& now) = 0;
  /// Between two steps: others may have their turn before it returns. False: the run ends.
  virtual bool turn(ticks& now) = 0;
  /// Nothing can go on here before `deadline` (timer_queue::never: no timer), unless something comes from outside.
  /// `polled`: a poller wants to be asked again soon. True: look again. False: nothing can go on anywhere, the run
  /// ends.
  virtual bool idle(ticks deadline, bool polled, ticks& now) = 0;
  /// What a report of a deadlock calls this run, as "seed 7, locality 2".
  [[nodiscard]] virtual std::string title() const = 0;
};

}  // namespace plx::detail
