#include "probe/record/idle_balance.hpp"

#include <sched.h>

#include <algorithm>

namespace plx::probe {
namespace {

/// A search that ends before the worker sleeps changes nothing that others see until this much has come together.
const double& least_pending() {
  static const double ticks_of_40_us = static_cast<double>(ticks_from(40e-6));
  return ticks_of_40_us;
}

void pause_at(unsigned turn) noexcept {
  if (turn >= 100) sched_yield();  // the writer may have been preempted
}

}  // namespace

std::uint64_t idle_balance::lock() noexcept {
  for (unsigned turn = 0;; ++turn) {
    std::uint64_t v = version_.load(std::memory_order_relaxed);
    // acquire: pairs with the release of the previous writer.
    if ((v & 1) == 0 && version_.compare_exchange_weak(v, v + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return v;
    pause_at(turn);
  }
}

idle_balance::line idle_balance::apply(ticks now, const change& c) noexcept {
  const std::uint64_t v = lock();
  const ticks before = since_.load(std::memory_order_relaxed), at = std::max(now, before);
  const auto passed = static_cast<double>(at - before);
  double value = value_.load(std::memory_order_relaxed) + passed * rate_.load(std::memory_order_relaxed);
  double alone = alone_.load(std::memory_order_relaxed) + passed * alone_rate_.load(std::memory_order_relaxed);
  // Negative if this worker was charged until a time after `at`: the caller's thread was delayed since it read `now`.
  const double left = c.hands_over ? value - c.charged_to : 0;
  busy_ += c.busy, idle_ += c.idle, parked_ += c.parked;
  const int others = busy_ - (c.stays ? 1 : 0);
  alone += c.parked_for;
  if (others > 0 && left + c.idled > 0)
    value += (left + c.idled) / others;
  else
    alone += left + c.idled;
  const double rate = busy_ > 0 ? static_cast<double>(idle_) / busy_ : 0;
  // release: a reader that acquires one of them sees the odd number.
  since_.store(at, std::memory_order_release);
  value_.store(value, std::memory_order_release);
  rate_.store(rate, std::memory_order_release);
  alone_.store(alone, std::memory_order_release);
  alone_rate_.store(parked_ + (busy_ > 0 ? 0 : idle_), std::memory_order_release);
  version_.store(v + 2, std::memory_order_release);  // pairs with the acquires of readers and of the next writer
  return {v + 2, at, value, rate};
}

idle_balance::line idle_balance::read() const noexcept {
  for (unsigned turn = 0;; ++turn) {
    const std::uint64_t v = version_.load(std::memory_order_acquire);
    // acquire: pairs with the releases in apply(), and orders them before the second look at the number.
    const line l{v, since_.load(std::memory_order_acquire), value_.load(std::memory_order_acquire),
                 rate_.load(std::memory_order_acquire)};
    if ((v & 1) == 0 && version_.load(std::memory_order_relaxed) == v) return l;
    pause_at(turn);
  }
}

double idle_balance::alone(ticks now) const noexcept {
  for (unsigned turn = 0;; ++turn) {
    const std::uint64_t v = version_.load(std::memory_order_acquire);
    const ticks since = since_.load(std::memory_order_acquire);  // as in read()
    const double passed = now > since ? static_cast<double>(now - since) : 0;
    const double sum = alone_.load(std::memory_order_acquire) + passed * alone_rate_.load(std::memory_order_acquire);
    if ((v & 1) == 0 && version_.load(std::memory_order_relaxed) == v) return sum;
    pause_at(turn);
  }
}

void idle_share::join(idle_balance& b, ticks now) noexcept {
  balance_ = &b;
  joined_ = true;
  begin_at(b.apply(now, {.busy = 1}));
}

void idle_share::leave(ticks now) noexcept {
  if (!joined_) return;
  pauses(now);
  balance_->apply(
      now, {.busy = -1, .hands_over = true, .charged_to = seen_.at(until_), .idled = std::exchange(pending_, 0)});
  joined_ = false;
  balance_ = &no_balance;
  seen_ = {};
}

// A line that would charge less than nothing, because clocks differ, is not taken yet.
[[gnu::noinline]] double idle_share::take_changed(ticks now) noexcept {
  const idle_balance::line l = balance_->read();
  const ticks at = std::max(now, l.since);
  const double charge = l.at(at) - seen_.at(until_);
  if (charge < 0) return 0;
  seen_ = l;
  until_ = at;
  return charge;
}

void idle_share::sleeps(ticks now, ticks passed, bool parks) noexcept {
  if (!joined_ || idle_) return;
  const double more = static_cast<double>(passed) - counted_ + std::exchange(pending_, 0);
  counted_ = static_cast<double>(passed);
  idle_ = true;
  parked_ = parks;
  idle_since_ = balance_
                    ->apply(now, {.busy = -1,
                                  .idle = parks ? 0 : 1,
                                  .parked = parks ? 1 : 0,
                                  .hands_over = true,
                                  .charged_to = seen_.at(until_),
                                  .idled = parks ? 0 : more,
                                  .parked_for = parks ? more : 0})
                    .since;
}

void idle_share::pauses(ticks now) noexcept {
  if (!idle_) return;
  idle_ = false;
  begin_at(balance_->apply(now, {.busy = 1, .idle = parked_ ? 0 : -1, .parked = parked_ ? -1 : 0}));
  counted_ += static_cast<double>(seen_.since - idle_since_);
}

void idle_share::ends(ticks now, ticks total) noexcept {
  if (!joined_) return;
  pauses(now);
  pending_ += static_cast<double>(total) - std::exchange(counted_, 0);
  if (pending_ < least_pending()) return;
  begin_at(balance_->apply(
      now, {.hands_over = true, .charged_to = seen_.at(until_), .stays = true, .idled = std::exchange(pending_, 0)}));
}

}  // namespace plx::probe
