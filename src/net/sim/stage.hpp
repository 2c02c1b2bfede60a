// The stage of a simulation: many deterministic runtimes, each with a thread of its own, of which one goes on at a
// time. One seed decides whose turn it is; one virtual clock is common to all.
//
// Time passes in small random steps while somebody works, so that messages arrive in the middle of things, and jumps to
// the next event when nobody can go on. When there is no next event, the run is over for all.
//
// Thread safety: each seat is used by its own thread; the rest by whoever has the turn, or while no run goes on. Cost:
// a turn that passes on is a hand-over between two threads, some microseconds. Example: net/sim/test/sim_test.cpp
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

/// The decisions of one seed, one after the other.
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

class stage {
 public:
  static constexpr ticks never = plx::detail::timer_queue::never;

  /// `step_ns`: how much virtual time a step of a scheduler takes at most. `limit_ns`: a run that reaches this time of
  /// the clock is ended as if nothing could go on, because something goes on for ever.
  stage(unsigned seats, std::uint64_t seed, ticks step_ns = 1000, ticks limit_ns = ticks{100'000} * 1'000'000'000);
  ~stage();
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  /// For runtime_options::conducted_by of the runtime on that seat.
  [[nodiscard]] plx::detail::conductor* conductor_of(unsigned which) noexcept;
  /// Before each run: all seats will be taken, by a run() of each runtime on a thread of its own.
  void open() noexcept;

  [[nodiscard]] ticks now() const noexcept { return clock_; }  ///< virtual nanoseconds
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// The time limit ended the last run.
  [[nodiscard]] bool out_of_time() const noexcept { return clock_ >= limit_; }
  /// A run goes on.
  [[nodiscard]] bool running() const noexcept { return running_; }
  /// Lets time pass until then. Requires: !running().
  void advance(ticks to) noexcept;
  /// The seed's decisions.
  seeded_choice& choose() noexcept { return choose_; }
  /// Something will come from outside to that seat at `when`, and nothing before; never: nothing is on its way.
  void expect(unsigned which, ticks when) noexcept;

 private:
  struct seat;
  enum class state : std::uint8_t { away, ready, idle };

  void begin(seat& s);
  bool turn(seat& s);
  bool idle(seat& s, ticks deadline, bool polled);
  [[nodiscard]] bool can_go_on(const seat& s) const noexcept;
  seat* pick() noexcept;
  seat* next_of_idle() noexcept;
  void hand_over(seat* to, seat& from);
  void end_run() noexcept;

  const std::uint64_t seed_;
  const ticks step_, limit_;
  seeded_choice choose_;
  ticks clock_ = 0;
  unsigned askings_ = 0;  // how often all were asked again since somebody did something
  unsigned taken_ = 0;    // seats, in this run
  std::mutex lock_;       // guards running_, whose_, taken_; all else belongs to whose turn it is
  bool running_ = false;
  seat* whose_ = nullptr;
  std::vector<std::unique_ptr<seat>> seats_;
};

}  // namespace plx::net
