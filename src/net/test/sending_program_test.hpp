// A model of a program that sends small parcels to one other locality: one worker, exactly known costs, and an
// independent implementation of both forms of coalescing. For tests of code that adapts to such traffic.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "net/parcels/adaptive/coalescing_follower.hpp"

namespace plx::net::test {

/// Bursts of parcels; the worker computes before each parcel, and computes or waits after each burst.
struct program_phase {
  double compute_s = 0.05e-6;  // before each parcel
  unsigned burst = 1;          // parcels
  double busy_pause_s = 0;     // after a burst, computing
  double idle_pause_s = 0;     // after a burst, idle
  bool waits = false;          // after a burst, until the last parcel was answered
  bool spins = false;          // polls while it waits, instead of being idle
  double parcel_s = 0.15e-6;   // cost of a parcel without its message
  double message_s = 0.3e-6;   // cost of a message
  double answer_s = 1.5e-6;    // from the departure of a message to an answer
  double parcel_bytes = 32;
};

class sending_program {
 public:
  explicit sending_program(program_phase p) : p_(p) {}

  void change(const program_phase& p) { p_ = p; }
  void set(const coalescing& how) {
    if (how == how_) return;
    if (open_ > 0) leave();
    how_ = how;
  }
  /// Runs for at least `span_s`, until the end of a burst.
  traffic run(double span_s) {
    seen_ = {};
    idle_s_ = network_s_ = 0;
    const double begin = now_;
    while (now_ - begin < span_s) burst();
    seen_.span_s = now_ - begin;
    seen_.slack = idle_s_ / seen_.span_s;
    seen_.overhead = network_s_ / seen_.span_s;
    seen_.message_s = p_.message_s;
    seen_.most_bytes = static_cast<std::size_t>(limit_bytes());
    return seen_;
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool fixed() const { return how_.way == coalescing_way::fixed; }
  [[nodiscard]] double limit_bytes() const {
    return how_.bytes != 0 ? static_cast<double>(how_.bytes) : fixed() ? 262144.0 : 8192.0;
  }

  void spend(double s) {
    const double end = now_ + s;
    // A computing worker runs its pollers and timers every 5 us.
    while (open_ > 0 && (fixed() ? due_ : std::max(last_ + 0.2e-6, next_poll_)) < end) {
      now_ = std::max(now_, fixed() ? due_ : std::max(last_ + 0.2e-6, next_poll_));
      const double left = end - now_;
      leave();
      next_poll_ = now_ + 5e-6;
      return spend(left);
    }
    now_ = end;
  }
  void rest_until(double end) {
    const double begin = now_;
    if (open_ > 0) leave();
    now_ = std::max(now_, end);
    idle_s_ += now_ - begin;
  }
  void leave() {
    now_ += p_.message_s;
    network_s_ += p_.message_s;
    departed_ = now_;
    open_ = 0;
    ++seen_.messages;
  }
  void parcel() {
    spend(p_.compute_s + p_.parcel_s);
    const double gap = last_ == -never ? never : now_ - last_;
    if (gap < never) ++seen_.gaps[std::min<std::size_t>(std::bit_width(static_cast<std::uint64_t>(gap * 1e9)), 47)];
    last_ = now_;
    ++seen_.parcels;
    seen_.bytes += p_.parcel_bytes;
    if (++open_ == 1) due_ = now_ + how_.interval_us * 1e-6;
    const bool full = open_ * p_.parcel_bytes + p_.parcel_bytes > limit_bytes();
    const bool goes =
        fixed() ? open_ >= how_.parcels || gap > how_.interval_us * 1e-6 : gap > 1e-6 && now_ - departed_ > 0.5e-6;
    if (full || goes) leave();
  }
  void burst() {
    for (unsigned i = 0; i < p_.burst; ++i) parcel();
    if (p_.waits && p_.spins) {
      while (open_ > 0) spend(1e-6);
      spend(std::max(0.0, departed_ + p_.answer_s - now_));
    } else if (p_.waits) {
      if (open_ > 0) rest_until(now_);
      rest_until(departed_ + p_.answer_s);
    }
    if (p_.busy_pause_s > 0) spend(p_.busy_pause_s);
    if (p_.idle_pause_s > 0) rest_until(now_ + p_.idle_pause_s);
  }

  program_phase p_;
  coalescing how_ = self_clocking;
  traffic seen_;
  double now_ = 0, last_ = -never, due_ = never, departed_ = -1, next_poll_ = 0;
  double idle_s_ = 0, network_s_ = 0;
  unsigned open_ = 0;
};

/// Mean time per parcel in seconds.
inline double seconds_per_parcel(const program_phase& p, const coalescing& how, double span_s = 0.02) {
  sending_program program(p);
  program.set(how);
  program.run(0.01);
  const traffic t = program.run(span_s);
  return t.span_s / t.parcels;
}

/// The smallest value over fixed forms with 1, 2, 4 ... 1024 parcels and intervals of 1 us to 10 ms.
inline double best_static_seconds(const program_phase& p) {
  double best = std::numeric_limits<double>::infinity();
  for (unsigned n = 1; n <= 1024; n *= 2)
    for (const double us : {1.0, 10.0, 100.0, 1000.0, 10000.0})
      best = std::min(best, seconds_per_parcel(p, {.parcels = n, .interval_us = us}));
  return best;
}

}  // namespace plx::net::test
