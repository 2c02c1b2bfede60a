// The scheduler of a simulation: several deterministic runtimes, each with its own thread, of which one runs at a time.
// A seed determines whose turn it is; one virtual clock is common to all.
//
// Time advances in small random steps while a runtime works, so that messages arrive at arbitrary points of a program,
// and jumps to the next event when no runtime can continue. Without a next event, the run ends for all.
//
// Thread safety: each member is used by its own thread; the rest by the thread that has the turn, or between runs.
// Cost: passing the turn is a hand-over between two threads, some microseconds. Example: net/sim/test/sim_test.cpp
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rt/core/deterministic.hpp"
#include "rt/core/timer_queue.hpp"

namespace plx::net {

/// The sequence of decisions made from one seed.
class seeded_choice {
 public:
  explicit seeded_choice(std::uint64_t seed) noexcept : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {}
  /// One of 0 .. n-1. Requires: n > 0.
  std::uint64_t operator()(std::uint64_t n) noexcept {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return (state_ * 0x2545f4914f6cdd1du >> 16) % n;
  }
  /// True with this probability, to about 10^-9.
  bool happens(double probability) noexcept {
    constexpr std::uint64_t parts = 1'000'000'000;
    return static_cast<double>((*this)(parts)) < probability * static_cast<double>(parts);
  }

 private:
  std::uint64_t state_;
};

class sim_scheduler {
 public:
  static constexpr ticks never = plx::detail::timer_queue::never;

  /// `step_ns`: maximum virtual time of a scheduler step. `limit_ns`: a run that reaches this time ends like a
  /// deadlock, because it is assumed to run forever.
  sim_scheduler(unsigned members, std::uint64_t seed, ticks step_ns = 1000,
                ticks limit_ns = ticks{100'000} * 1'000'000'000);
  ~sim_scheduler();
  sim_scheduler(const sim_scheduler&) = delete;
  sim_scheduler& operator=(const sim_scheduler&) = delete;

  /// The value of runtime_options::conducted_by for the runtime on that member.
  [[nodiscard]] plx::detail::conductor* conductor_of(unsigned which) noexcept;
  /// Called before each run: all members will be taken, each by a run() of its runtime on a separate thread.
  void open() noexcept;

  [[nodiscard]] ticks now() const noexcept { return clock_; }  ///< virtual nanoseconds
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// Whether the last run ended at the time limit.
  [[nodiscard]] bool out_of_time() const noexcept { return clock_ >= limit_; }
  /// Whether a run is in progress.
  [[nodiscard]] bool running() const noexcept { return running_; }
  /// Advances the clock. Requires: !running().
  void advance(ticks to) noexcept;
  /// The seed's decisions.
  seeded_choice& choose() noexcept { return choose_; }
  /// That member, which has the turn, does not run before this time.
  void stall(unsigned which, ticks until) noexcept;
  /// The next external event for that member will happen at `when`; never: there is none.
  void expect(unsigned which, ticks when) noexcept;

 private:
  struct member;
  enum class state : std::uint8_t { away, ready, idle };

  void begin(member& s);
  bool turn(member& s);
  bool idle(member& s, ticks deadline, bool polled);
  [[nodiscard]] bool can_go_on(const member& s) const noexcept;
  member* pick() noexcept;
  member* next_of_idle() noexcept;
  void hand_over(member* to, member& from);
  void end_run() noexcept;

  const std::uint64_t seed_;
  const ticks step_, limit_;
  seeded_choice choose_;
  ticks clock_ = 0;
  unsigned askings_ = 0;  // polls of all members since anything happened
  unsigned taken_ = 0;    // members taken in this run
  std::mutex lock_;       // guards running_, whose_, taken_; all else belongs to the thread that has the turn
  bool running_ = false;
  member* whose_ = nullptr;
  std::vector<std::unique_ptr<member>> members_;
};

}  // namespace plx::net
