// The offsets of the other localities' clocks from the root's, measured at the start, at the end, and periodically in
// between.
//
// Each locality measures the clock of its parent in the tree of net/core/tree_round.hpp: it reads that clock 32 times,
// by calls that are answered in pollers. A request for the time and its answer give a point: the other clock's reading
// `there` was taken between `asked` and `answered`, so it corresponds to their midpoint, within half of the round trip
// (Cristian 1989). The exchange with the shortest round trip is kept, because the others were delayed. The points go up
// the tree, and the root converts the time of each parent to its own by the points of that parent. Nothing is assumed
// about hosts: two processes on one host are measured like any others. A parent that computes and does not poll answers
// late: the best exchange is then slower, and the uncertainty larger. A locality measures in a task: if its workers run
// other tasks for longer than the time of the round, it gets no new point in it.
//
// Error: at most the sum of the halves of the best round trips on the way to the root, at most log2(n) of them. The
// points of a locality and of its parent are of slightly different times: before the second measurement the difference
// adds its product with the error of the nominal rates, 5e-5 (trace/file/clock_map.hpp); later nothing.
//
// Thread safety: everything; concurrent calls of measure() are serialized. Cost: 33 messages each way per locality and
// measurement, at most 33 log2(n) of one locality; nothing between measurements. Errors: a locality that is lost or
// does not answer within the deadline gets no new point. Example: net/observe/test/clock_offsets_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "net/bitwise.hpp"
#include "net/core/node.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/future.hpp"
#include "rt/mutex.hpp"
#include "trace/file/clock_map.hpp"

namespace plx::net {

using probe::clock_map;
using probe::clock_point;

/// One exchange: the times of request and answer by the requester's clock, and the reading of the other clock.
struct clock_exchange {
  ticks asked = 0;
  ticks there = 0;
  ticks answered = 0;
};

/// The point from the exchange with the shortest round trip; nullopt without an exchange that ended after it began.
std::optional<clock_point> best_point(std::span<const clock_exchange> exchanges) noexcept;

/// A locality's measurement of its parent's clock.
struct clock_edge {
  locality_id of = no_locality, parent = no_locality;
  double per_s = 0;          ///< ticks per second of the locality's clock, as it has measured them itself
  ticks there = 0;           ///< by its clock
  ticks here = 0;            ///< by the parent's
  double uncertainty_s = 0;  ///< half of the round trip
};

class clock_offsets final : public service {
 public:
  explicit clock_offsets(node& n);
  ~clock_offsets() override;

  /// All others measure, within `timeout_s` in total: see net/observe/tree_gather.hpp for those that are stopped. In a
  /// task of the root. `without`: by locality, those that no longer answer; empty: none.
  void measure(double timeout_s = deadline_s, const std::vector<bool>& without = {});
  /// Measures every `period_s` from now on, until end(), for at most half of it, but at least `deadline_s`. Cost: a
  /// task that sleeps.
  void begin(double period_s);
  /// Ends the periodic measurement, in a task, in at most the time of a measurement; a second call does nothing.
  void end();
  /// On the root: the map from a locality's clock to this one's, as measured so far.
  [[nodiscard]] clock_map of(locality_id which) const;

  /// Replaces now_ticks() by another clock with `per_s` ticks per second. Called before the first measure().
  void read_with(ticks (*clock)(void*), void* context, double per_s) noexcept;
  [[nodiscard]] ticks now() const noexcept { return clock_ == nullptr ? now_ticks() : clock_(context_); }

  void peer_lost(locality_id peer) override;

  /// Measures the clock of the parent, in a task; nothing if that does not answer in time.
  std::optional<clock_edge> measure_parent(locality_id parent, double timeout_s);

  // Called by actions from other localities, in pollers.
  void asked(locality_id by, std::uint64_t turn, ticks when);
  void answered(locality_id by, std::uint64_t turn, const clock_exchange& e);

  static constexpr unsigned exchanges = 32;
  static constexpr double deadline_s = 2;

 private:
  [[nodiscard]] std::vector<char> take(std::vector<clock_edge> edges);
  void ask(locality_id peer, std::uint64_t turn);
  bool ends(std::uint64_t turn, promise<void>& to_notify);

  /// The points that the recorder has not yet passed to a trace.
  class new_points;

  node& node_;
  const std::shared_ptr<new_points> points_;
  ticks (*clock_)(void*) = nullptr;
  void* context_ = nullptr;
  double per_s_ = 0;  // ticks per second of now()

  mutex repeats_lock_;
  condition_variable_any repeats_end_;
  bool repeats_ = false;  // guarded by repeats_lock_
  future<void> repeated_;

  mutex rounds_, one_at_a_time_;        // of measure(); of measure_parent()
  mutable plx::detail::spinlock lock_;  // guards the following members
  std::vector<clock_map> maps_;         // by locality
  std::uint64_t turn_ = 0;              // number of the current or last measurement
  bool measuring_ = false;
  locality_id peer_ = no_locality;
  std::vector<clock_exchange> found_;
  promise<void> done_;
};

}  // namespace plx::net

template <>
inline constexpr bool plx::is_bitwise<plx::net::clock_edge> = true;
