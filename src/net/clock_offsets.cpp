#include "net/clock_offsets.hpp"

#include <chrono>
#include <mutex>
#include <utility>

#include "net/action.hpp"
#include "net/sender.hpp"
#include "rt/async.hpp"

namespace plx::net {
namespace {

using plx::detail::spin_guard;

void clock_asked(sender by, std::uint64_t turn, ticks when) {
  node_here().get<clock_offsets>().asked(by.who, turn, when);
}
void clock_told(sender by, std::uint64_t turn, ticks asked, ticks there, double per_s) {
  clock_offsets& own = node_here().get<clock_offsets>();
  own.told(by.who, turn, {.asked = asked, .there = there, .answered = own.now()}, per_s);
}

}  // namespace

template <>
inline constexpr bool is_control<&clock_asked> = true;
template <>
inline constexpr bool is_control<&clock_told> = true;
template <>
inline constexpr bool is_direct<&clock_asked> = true;
template <>
inline constexpr bool is_direct<&clock_told> = true;

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

void clock_offsets::measure(double patience_s, const std::vector<bool>& without) {
  const std::lock_guard one(one_at_a_time_);
  for (locality_id peer = 0; peer < node_.size(); ++peer)
    if (peer != node_.here() && !node_.is_lost(peer) && (without.empty() || !without[peer]))
      measure_one(peer, patience_s);
}

void clock_offsets::measure_one(locality_id peer, double patience_s) {
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
  // Who was lost before peer_ said so has been told of already.
  if (!node_.is_lost(peer)) (void)done.wait_for(std::chrono::duration<double>(patience_s));
  promise<void> nobody_waits;
  ends(turn, nobody_waits);
  const spin_guard guard(lock_);
  const auto best = best_point(found_);
  if (!best) return;
  if (!maps_[peer].known()) maps_[peer] = clock_map(per_s_, peer_per_s_);
  maps_[peer].add(*best);
}

/// True when the caller is the one who ended it, and has to tell.
bool clock_offsets::ends(std::uint64_t turn, promise<void>& to_tell) {
  const spin_guard guard(lock_);
  if (turn != turn_ || !std::exchange(measuring_, false)) return false;
  to_tell = std::move(done_);
  return true;
}

void clock_offsets::ask(locality_id peer, std::uint64_t turn) {
  post<&clock_asked>(peer, sender{node_.here()}, turn, now());
}

void clock_offsets::asked(locality_id by, std::uint64_t turn, ticks when) {
  post<&clock_told>(by, sender{node_.here()}, turn, when, now(), per_s_);
}

void clock_offsets::told(locality_id by, std::uint64_t turn, const clock_exchange& e, double per_s) {
  bool again = false;
  {
    const spin_guard guard(lock_);
    if (turn != turn_ || !measuring_ || by != peer_ || !(per_s > 0)) return;
    found_.push_back(e);
    peer_per_s_ = per_s;
    again = found_.size() < exchanges;
  }
  if (again) return ask(by, turn);
  promise<void> told;
  if (ends(turn, told)) told.set_value();
}

void clock_offsets::peer_lost(locality_id peer) {
  std::uint64_t turn = 0;
  {
    const spin_guard guard(lock_);
    if (!measuring_ || peer_ != peer) return;
    turn = turn_;
  }
  promise<void> told;
  if (ends(turn, told)) told.set_value();
}

}  // namespace plx::net
