// The end of a round of step/exchange.hpp: a given number of events has occurred, or a peer is lost.
//
// Thread safety: all members from any task, except wait(), which the task that opened the round calls. Cost: an atomic
// decrement per event. Example: step/test/exchange_test.cpp
#pragma once

#include <atomic>
#include <exception>

#include "rt/latch.hpp"

namespace plx::step {

/// The end of a round: a given number of events has occurred, or a peer is lost.
class round_end {
 public:
  /// Requires: lives until the round is closed.
  explicit round_end(int things);
  /// One event has occurred.
  void arrive() {
    // acq_rel: the waiting task sees everything before each arrival.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) end();
  }
  /// All events have occurred.
  void end();
  /// `loss`: the error that fail() throws, a locality_lost.
  void lost(const std::exception_ptr& loss);
  /// Waits for the end, as a task; also without memory for a stack to wait with, because tasks of the round use this
  /// object. False if a peer is lost.
  [[nodiscard]] bool wait();
  /// Throws locality_lost. Requires: wait() returned false.
  [[noreturn]] void fail() const;
  /// this_thread::yield(); without memory for a stack to switch to, another task runs on top of the caller's.
  static void let_others_run();

 private:
  std::atomic<int> missing_;
  std::atomic<bool> ended_{false};
  latch end_{1};
  std::atomic<bool> lost_{false};
  std::exception_ptr loss_;
};

}  // namespace plx::step
