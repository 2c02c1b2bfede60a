// Blame for idle time: which share of the time in which workers find no task falls to what the others run.
//
// At a moment with I idle and B other workers each of the latter is charged I / B seconds per second (Tallent and
// Mellor-Crummey, PPoPP 2009). R(t) is the integral of I / B; what a worker runs from t0 to t1 is charged R(t1) -
// R(t0), which is exact however I and B change meanwhile. All charges, and the time in which B was 0, sum to the idle
// time.
//
// Thread safety: idle_balance: all functions. idle_share: its worker. Cost: a slice during which no worker was idle two
// loads and comparisons, a multiplication more while one is; a worker that sleeps or wakes a short lock, and the next
// slice of each other worker a cache miss. Numbers: docs/probe.md.
// Example: probe/record/test/idle_balance_test.cpp; docs/probe.md, "Blame for idle time".
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/clock.hpp"

namespace plx::probe {

/// R(t), shared by the workers of a recorder.
/// Memory order: a sequence lock. `version_` is odd while a thread changes the members after it; a reader tries again
/// if it was odd, or has changed meanwhile.
class alignas(64) idle_balance {
 public:
  /// R(t) = value + rate (t - since), until the next change.
  struct line {
    std::uint64_t version = 0;
    ticks since = 0;
    double value = 0;  // ticks
    double rate = 0;   // I / B
    /// R(t).
    [[nodiscard]] double at(ticks t) const noexcept {
      return value + rate * static_cast<double>(static_cast<std::int64_t>(t - since));
    }
  };

  /// A worker's change of state. Times in ticks.
  struct change {
    int busy = 0, idle = 0, parked = 0;  // added to the numbers of workers
    bool hands_over = false;             // the worker was not idle: its charge beyond `charged_to` falls to the others
    double charged_to = 0;               // a value of R
    bool stays = false;                  // the worker remains busy, but `idled` is not charged to it
    double idled = 0;                    // idle time that has passed already, charged to the others; may be negative
    double parked_for = 0;               // parked time that has passed already, charged to none
  };

  constexpr idle_balance() noexcept = default;

  /// Grows with each change. Relaxed: the caller reads the rest only after read().
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }
  [[nodiscard]] line read() const noexcept;  ///< the present line
  /// Applies a change at time `now`, or at that of the last change if this is later: it is `since` of the result.
  line apply(ticks now, const change& c) noexcept;
  /// Idle time until `now` that is charged to none: all workers were idle, or the idle ones were parked.
  [[nodiscard]] double alone(ticks now) const noexcept;

 private:
  std::uint64_t lock() noexcept;

  std::atomic<std::uint64_t> version_{0};
  std::atomic<ticks> since_{0};
  std::atomic<double> value_{0}, rate_{0};
  std::atomic<double> alone_{0}, alone_rate_{0};
  // Read by writers only.
  int busy_ = 0, idle_ = 0, parked_ = 0;
};

/// For workers that belong to no balance.
inline constinit idle_balance no_balance;

/// A worker's view of the balance: what it has been charged, and whether it is idle.
class idle_share {
 public:
  /// The worker begins, or ends, to take part. Until then and after that it is charged nothing.
  void join(idle_balance& b, ticks now) noexcept;
  void leave(ticks now) noexcept;  ///< see join()

  /// Whether take() may return more than 0.
  [[nodiscard]] bool due() const noexcept { return balance_->version() != seen_.version || seen_.rate != 0; }
  /// Whether the line has changed since the last call of take().
  [[nodiscard]] bool changed() const noexcept { return balance_->version() != seen_.version; }
  /// The charge since the last call, in ticks. Requires: the worker is not idle.
  double take(ticks now) noexcept { return changed() ? take_changed(now) : take_more(now); }
  /// The same if the line has not changed.
  double take_more(ticks now) noexcept {
    if (now <= until_) return 0;
    return seen_.rate * static_cast<double>(static_cast<std::int64_t>(now - std::exchange(until_, now)));
  }

  /// The worker has had no task for `passed` ticks of the present search, and is idle from now on. `parks`: it takes no
  /// tasks, so that none is charged. No effect if it is idle.
  void sleeps(ticks now, ticks passed, bool parks = false) noexcept;
  /// The worker does something else than waiting for a task; what follows is idle time again after sleeps().
  void pauses(ticks now) noexcept;
  /// The search has ended, after `total` ticks without a task.
  void ends(ticks now, ticks total) noexcept;

 private:
  double take_changed(ticks now) noexcept;
  void begin_at(const idle_balance::line& l) noexcept {
    seen_ = l;
    until_ = l.since;
  }

  idle_balance* balance_ = &no_balance;
  idle_balance::line seen_;
  ticks until_ = 0;  // charged until then; kept up to date only while seen_.rate is not 0
  bool joined_ = false;
  bool idle_ = false, parked_ = false;
  ticks idle_since_ = 0;
  double counted_ = 0;  // idle ticks of this search that the balance has
  double pending_ = 0;  // idle ticks of earlier searches that it does not have
};

}  // namespace plx::probe
