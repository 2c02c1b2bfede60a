// How the clocks of the other localities stand to the root's: measured by the root, at the start, at the end, and now
// and then in between.
//
// The root asks one locality after the other, some tens of times each, by calls that pollers answer at once; the
// fastest exchange is kept (net/clock_map.hpp). Nothing is assumed of hosts: two processes of one are measured as any
// others. A locality that computes and does not poll answers late: then its best exchange is worse, and says so.
//
// Thread safety: everything; measure() of one caller at a time goes on, others wait. Cost: 32 exchanges per locality
// and measurement, 0.1 ms each where both are idle on one host; nothing while nobody measures. Errors: a locality that
// is lost or does not answer within the deadline gets no new point. Example: net/clock_offsets_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "net/clock_map.hpp"
#include "net/node.hpp"
#include "rt/detail/spinlock.hpp"
#include "rt/future.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

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
