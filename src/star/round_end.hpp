// The end of a round of star/exchange.hpp: so many things have happened, or a peer is lost.
//
// Thread safety: everything but wait(), by the one who opened the round. Cost: an atomic decrement per thing. Example:
// star/exchange_test.cpp
#pragma once

#include <atomic>
#include <string>

#include "rt/latch.hpp"

namespace plx::star {

/// The end of a round: so many things have happened, or a peer is lost.
class round_end {
 public:
  /// Requires: lives until the round is closed.
  explicit round_end(int things);
  /// One of them has happened.
  void arrive() {
    // acq_rel: the waiting task sees what came before every arrival.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) end();
  }
  /// All of them have happened.
  void end();
  void lost(int peer, const std::string& why);
  /// Waits for the end, as a task. False when a peer is lost.
  [[nodiscard]] bool wait();
  /// Throws locality_lost. Requires: wait() gave false.
  [[noreturn]] void fail() const;

 private:
  std::atomic<int> missing_;
  std::atomic<bool> ended_{false};
  latch end_{1};
  std::atomic<bool> lost_{false};
  int lost_peer_ = 0;
  std::string why_;
};

}  // namespace plx::star
