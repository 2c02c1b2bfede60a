#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "net/action.hpp"
#include "net/core/sender.hpp"
#include "net/observe/clock_offsets.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_sink.hpp"
#include "rt/async.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::net {

std::optional<clock_point> best_point(std::span<const clock_exchange> exchanges) noexcept {
  const clock_exchange* best = nullptr;
  for (const clock_exchange& e : exchanges)
    if (e.answered >= e.asked && (best == nullptr || e.answered - e.asked < best->answered - best->asked)) best = &e;
  if (best == nullptr) return std::nullopt;
  const ticks trip = best->answered - best->asked;
  return clock_point{.there = best->there, .here = best->asked + trip / 2, .uncertainty = (trip + 1) / 2};
}

namespace {

using plx::detail::spin_guard;

void clock_asked(sender by, std::uint64_t turn, ticks when) {
  node_here().get<clock_offsets>().asked(by.who, turn, when);
}
void clock_answered(sender by, std::uint64_t turn, ticks asked, ticks there, double per_s) {
  clock_offsets& own = node_here().get<clock_offsets>();
  own.answered(by.who, turn, {.asked = asked, .there = there, .answered = own.now()}, per_s);
}

}  // namespace

template <>
inline constexpr bool is_control<&clock_asked> = true;
template <>
inline constexpr bool is_control<&clock_answered> = true;
template <>
inline constexpr bool is_direct<&clock_asked> = true;
template <>
inline constexpr bool is_direct<&clock_answered> = true;

class clock_offsets::new_points final : public probe::trace_source {
 public:
  void add(locality_id which, double per_s, const clock_point& p) {
    const spin_guard guard(lock_);
    points_.push_back({which, per_s, p});
  }
  void drain(probe::trace_sink& to) override {
    std::vector<point> all;
    {
      const spin_guard guard(lock_);
      all.swap(points_);
    }
    for (const point& p : all) to.clock(p.which, p.per_s, p.at);
  }

 private:
  struct point {
    locality_id which;
    double per_s;
    clock_point at;
  };
  plx::detail::spinlock lock_;
  std::vector<point> points_;
};

clock_offsets::~clock_offsets() = default;

clock_offsets::clock_offsets(node& n)
    : node_(n), points_(std::make_shared<new_points>()), per_s_(ticks_per_second()), maps_(n.size()) {
  if (n.here() == 0) n.home().recorder().add_source(points_);
}

void clock_offsets::read_with(ticks (*clock)(void*), void* context, double per_s) noexcept {
  clock_ = clock;
  context_ = context;
  per_s_ = per_s;
}

void clock_offsets::begin(double period_s) {
  {
    const std::lock_guard guard(repeats_lock_);
    if (std::exchange(repeats_, true)) return;
  }
  repeated_ = async([this, period = std::chrono::duration<double>(period_s)] {
    std::unique_lock guard(repeats_lock_);
    while (!repeats_end_.wait_for(guard, period, [this] { return !repeats_; })) {
      guard.unlock();
      measure_each();
      guard.lock();
    }
  });
}

void clock_offsets::end() {
  {
    const std::lock_guard guard(repeats_lock_);
    if (!std::exchange(repeats_, false)) return;
    repeats_end_.notify_all();
  }
  repeated_.get();
}

clock_map clock_offsets::of(locality_id which) const {
  const spin_guard guard(lock_);
  return maps_.at(which);
}

void clock_offsets::measure(double timeout_s, const std::vector<bool>& without) {
  const std::lock_guard one(one_at_a_time_);
  const plx::detail::scheduler& s = node_.home().get_scheduler();
  const ticks end = s.now() + s.span_of(timeout_s);  // on the clock of the runtime, which may be virtual
  std::vector<locality_id> peers;
  for (locality_id peer = 0; peer < node_.size(); ++peer)
    if (peer != node_.here() && (without.empty() || !without[peer])) peers.push_back(peer);
  // Each has an equal share of the time that is left, so that those that have stopped do not use up that of others.
  // Those that have not answered share the rest.
  for (int round = 0; round < 2; ++round) {
    std::vector<locality_id> missed;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const ticks now = s.now();
      if (now >= end) return;
      const double left_s = static_cast<double>(end - now) / static_cast<double>(s.span_of(1));
      if (!measure_one(peers[i], left_s / static_cast<double>(peers.size() - i))) missed.push_back(peers[i]);
    }
    peers = std::move(missed);
  }
}

// The periodic measurement. Only end() waits for it: each locality has all of the time, as it may compute and answer
// late.
void clock_offsets::measure_each() {
  const std::lock_guard one(one_at_a_time_);
  for (locality_id peer = 0; peer < node_.size() && repeats(); ++peer)
    if (peer != node_.here()) measure_one(peer, deadline_s);
}

bool clock_offsets::repeats() {
  const std::lock_guard guard(repeats_lock_);
  return repeats_;
}

/// False if there is no exchange with it, and it is not lost.
bool clock_offsets::measure_one(locality_id peer, double timeout_s) {
  if (node_.is_lost(peer)) return true;
  future<void> done;
  std::uint64_t turn = 0;
  {
    const spin_guard guard(lock_);
    turn = ++turn_;
    measuring_ = true;
    peer_ = peer;
    found_.clear();
    found_.reserve(exchanges);
    done_ = promise<void>();
    done = done_.get_future();
  }
  ask(peer, turn);
  // A peer that was lost before peer_ was set is not reported again.
  if (!node_.is_lost(peer)) (void)done.wait_for(std::chrono::duration<double>(timeout_s));
  promise<void> unused;
  ends(turn, unused);
  const spin_guard guard(lock_);
  const auto best = best_point(found_);
  if (!best) return node_.is_lost(peer);
  if (!maps_[peer].known()) maps_[peer] = clock_map(per_s_, peer_per_s_);
  if (maps_[peer].add(*best)) points_->add(peer, peer_per_s_, *best);
  return true;
}

/// True if this call ended the measurement; the caller then sets `to_notify`.
bool clock_offsets::ends(std::uint64_t turn, promise<void>& to_notify) {
  const spin_guard guard(lock_);
  if (turn != turn_ || !std::exchange(measuring_, false)) return false;
  to_notify = std::move(done_);
  return true;
}

void clock_offsets::ask(locality_id peer, std::uint64_t turn) {
  post<&clock_asked>(peer, sender{node_.here()}, turn, now());
}

void clock_offsets::asked(locality_id by, std::uint64_t turn, ticks when) {
  post<&clock_answered>(by, sender{node_.here()}, turn, when, now(), per_s_);
}

void clock_offsets::answered(locality_id by, std::uint64_t turn, const clock_exchange& e, double per_s) {
  bool again = false;
  {
    const spin_guard guard(lock_);
    if (turn != turn_ || !measuring_ || by != peer_ || !(per_s > 0)) return;
    found_.push_back(e);
    peer_per_s_ = per_s;
    again = found_.size() < exchanges;
  }
  if (again) return ask(by, turn);
  promise<void> waiter;
  if (ends(turn, waiter)) waiter.set_value();
}

void clock_offsets::peer_lost(locality_id peer) {
  std::uint64_t turn = 0;
  {
    const spin_guard guard(lock_);
    if (!measuring_ || peer_ != peer) return;
    turn = turn_;
  }
  promise<void> waiter;
  if (ends(turn, waiter)) waiter.set_value();
}

}  // namespace plx::net
