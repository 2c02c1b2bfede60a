// The time of another process's clock in terms of one's own: each processor's counter starts somewhere, and runs at a
// rate of its own.
//
// A question for the time and its answer give a point: while the other clock said `there`, this one was between `asked`
// and `answered`, so it was at their middle, give or take half of the round trip (Cristian 1989). Of many exchanges the
// one with the shortest round trip is kept, for the others were delayed by something. Between two points the map is the
// line through them, which takes the drift with it; before the first and behind the last it goes on at the rate that
// all points tell, or, where they lie too close together for that, at the nominal one.
//
// Invariants: both coordinates grow from point to point, so the map grows strictly: no clock runs backwards. For a
// clock of constant rate its error between two points is at most the larger one of their uncertainties, whatever the
// delays of the two ways are. Thread safety: values. Cost: a binary search among the points. Example:
// net/observe/test/clock_map_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "net/core/node.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/future.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

/// One exchange: when it was asked and answered by the asker's clock, and what the other one said in between.
struct clock_exchange {
  ticks asked = 0;
  ticks there = 0;
  ticks answered = 0;
};

/// While the other clock said `there`, this one said `here`, give or take `uncertainty` ticks.
struct clock_point {
  ticks there = 0;
  ticks here = 0;
  ticks uncertainty = 0;
};

/// What the exchange with the shortest round trip says; nothing when there is none that ends after it began.
std::optional<clock_point> best_point(std::span<const clock_exchange> exchanges) noexcept;

class clock_map {
 public:
  /// That of a clock with itself: no points, and nothing changes.
  clock_map() = default;
  /// Both rates in ticks per second, as each side has measured its own. Requires: both > 0.
  clock_map(double rate_here, double rate_there) noexcept : rate_here_(rate_here), rate_there_(rate_there) {}

  /// A later point. One that does not lie behind the last one by both clocks is left out: then it gives false.
  bool add(const clock_point& p);
  /// Whether it knows anything of the other clock.
  [[nodiscard]] bool known() const noexcept { return !points_.empty(); }
  [[nodiscard]] const std::vector<clock_point>& points() const noexcept { return points_; }

  /// This clock's time when the other one said `there`; `there` itself while nothing is known. Never negative.
  [[nodiscard]] ticks operator()(ticks there) const noexcept;
  /// How much this clock was ahead of the other one at the first point, seconds since each began to count.
  [[nodiscard]] double offset_s() const noexcept;
  /// How much faster this clock runs than the other, beyond what both say of their rates: 1e-6 is a microsecond per
  /// second. 0 where the points lie too close together to tell.
  [[nodiscard]] double drift() const noexcept;
  /// The largest error at a point, seconds: half of its round trip.
  [[nodiscard]] double uncertainty_s() const noexcept;

 private:
  [[nodiscard]] double nominal() const noexcept { return rate_here_ / rate_there_; }
  [[nodiscard]] double overall() const noexcept;

  double rate_here_ = 1, rate_there_ = 1;
  std::vector<clock_point> points_;
};

// How the clocks of the other localities stand to the root's: measured by the root, at the start, at the end, and now
// and then in between.
//
// The root asks one locality after the other, some tens of times each, by calls that pollers answer at once; the
// fastest exchange is kept (net/observe/clock_offsets.hpp). Nothing is assumed of hosts: two processes of one are
// measured as any others. A locality that computes and does not poll answers late: then its best exchange is worse, and
// says so.
//
// Thread safety: everything; measure() of one caller at a time goes on, others wait. Cost: 32 exchanges per locality
// and measurement, 0.1 ms each where both are idle on one host; nothing while nobody measures. Errors: a locality that
// is lost or does not answer within the deadline gets no new point. Example: net/observe/test/clock_offsets_test.cpp

class clock_offsets final : public service {
 public:
  explicit clock_offsets(node& n);

  /// Asks all others, as a task, each for so long at most. Requires: called on the root, or on any locality whose own
  /// view is wanted.
  /// `without`: by locality, those that do not answer any more; none when it is empty.
  void measure(double patience_s = deadline_s, const std::vector<bool>& without = {});
  /// Measures every so often from now on, until end(). Cost: a task that sleeps.
  void begin(double period_s);
  /// Ends that, as a task; a second call does nothing.
  void end();
  /// From a locality's clock to this one's, as measured so far.
  [[nodiscard]] clock_map of(locality_id which) const;

  /// What is read instead of now_ticks(), and its ticks per second. Before the first measure().
  void read_with(ticks (*clock)(void*), void* context, double per_s) noexcept;
  [[nodiscard]] ticks now() const noexcept { return clock_ == nullptr ? now_ticks() : clock_(context_); }

  void peer_lost(locality_id peer) override;

  // What the twins call, in pollers.
  void asked(locality_id by, std::uint64_t turn, ticks when);
  void told(locality_id by, std::uint64_t turn, const clock_exchange& e, double per_s);

  static constexpr unsigned exchanges = 32;
  static constexpr double deadline_s = 2;

 private:
  void measure_one(locality_id peer, double patience_s);
  void ask(locality_id peer, std::uint64_t turn);
  bool ends(std::uint64_t turn, promise<void>& to_tell);

  node& node_;
  ticks (*clock_)(void*) = nullptr;
  void* context_ = nullptr;
  double per_s_ = 0;  // of now()

  mutex repeats_lock_;
  condition_variable_any repeats_end_;
  bool repeats_ = false;  // guarded by repeats_lock_
  future<void> repeated_;

  mutex one_at_a_time_;
  mutable plx::detail::spinlock lock_;  // guards what follows
  std::vector<clock_map> maps_;         // by locality
  std::uint64_t turn_ = 0;              // of what is measured now, or was last
  bool measuring_ = false;
  locality_id peer_ = no_locality;
  double peer_per_s_ = 0;
  std::vector<clock_exchange> found_;
  promise<void> done_;
};

}  // namespace plx::net
