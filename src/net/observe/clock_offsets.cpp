#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>

#include "net/action.hpp"
#include "net/core/sender.hpp"
#include "net/observe/clock_offsets.hpp"
#include "rt/async.hpp"

namespace plx::net {
namespace {

/// Relative error of the nominal rates that two processes measured themselves (base/clock.hpp), both together.
constexpr double nominal_error = 5e-5;

/// `from` + (at - was) * rate, at least 0. For nearby points the differences are small enough for a double.
ticks moved(ticks from, ticks was, ticks at, double rate) noexcept {
  const double span = at >= was ? static_cast<double>(at - was) : -static_cast<double>(was - at);
  const double step = std::round(span * rate);
  if (step >= 0) return from + static_cast<ticks>(step);
  return -step >= static_cast<double>(from) ? 0 : from - static_cast<ticks>(-step);
}

}  // namespace

std::optional<clock_point> best_point(std::span<const clock_exchange> exchanges) noexcept {
  const clock_exchange* best = nullptr;
  for (const clock_exchange& e : exchanges)
    if (e.answered >= e.asked && (best == nullptr || e.answered - e.asked < best->answered - best->asked)) best = &e;
  if (best == nullptr) return std::nullopt;
  const ticks trip = best->answered - best->asked;
  return clock_point{.there = best->there, .here = best->asked + trip / 2, .uncertainty = (trip + 1) / 2};
}

bool clock_map::add(const clock_point& p) {
  if (known() && (p.there <= points_.back().there || p.here <= points_.back().here)) return false;
  points_.push_back(p);
  return true;
}

double clock_map::overall() const noexcept {
  if (points_.size() < 2) return nominal();
  const clock_point &a = points_.front(), &b = points_.back();
  const double span = static_cast<double>(b.here - a.here);
  if (static_cast<double>(a.uncertainty + b.uncertainty) > nominal_error * span) return nominal();
  return span / static_cast<double>(b.there - a.there);
}

ticks clock_map::operator()(ticks there) const noexcept {
  if (!known()) return there;
  const auto behind = std::upper_bound(points_.begin(), points_.end(), there,
                                       [](ticks t, const clock_point& p) { return t < p.there; });
  if (behind == points_.begin()) return moved(behind->here, behind->there, there, overall());
  const clock_point& a = *(behind - 1);
  if (behind == points_.end()) return moved(a.here, a.there, there, overall());
  const double rate = static_cast<double>(behind->here - a.here) / static_cast<double>(behind->there - a.there);
  return moved(a.here, a.there, there, rate);
}

double clock_map::offset_s() const noexcept {
  if (!known()) return 0;
  return static_cast<double>(points_[0].here) / rate_here_ - static_cast<double>(points_[0].there) / rate_there_;
}

double clock_map::drift() const noexcept { return overall() / nominal() - 1; }

double clock_map::uncertainty_s() const noexcept {
  ticks most = 0;
  for (const clock_point& p : points_) most = std::max(most, p.uncertainty);
  return static_cast<double>(most) / rate_here_;
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

clock_offsets::clock_offsets(node& n) : node_(n), per_s_(ticks_per_second()), maps_(n.size()) {}

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
      measure();
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
  for (locality_id peer = 0; peer < node_.size(); ++peer)
    if (peer != node_.here() && !node_.is_lost(peer) && (without.empty() || !without[peer]))
      measure_one(peer, timeout_s);
}

void clock_offsets::measure_one(locality_id peer, double timeout_s) {
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
  if (!best) return;
  if (!maps_[peer].known()) maps_[peer] = clock_map(per_s_, peer_per_s_);
  maps_[peer].add(*best);
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
