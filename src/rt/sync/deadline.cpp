#include "rt/sync/deadline.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "rt/core/scheduler.hpp"

namespace plx::detail {
namespace {

constexpr double longest_span_s = 1e9;  // 31 years; a later end is waited for in several waits

std::int64_t monotonic_ns() noexcept {
  std::timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

ticks deadline_in(double seconds_from_now) {
  worker* w = this_worker();
  const ticks now = w != nullptr ? w->home.now() : now_ticks();
  if (!(seconds_from_now > 0)) return now;
  const double span_s = std::min(seconds_from_now, longest_span_s);
  return now + (w != nullptr ? w->home.span_of(span_s) : ticks_from(span_s));
}

// Rounded up to whole nanoseconds: a wait is at least as long as its duration.
time_limit::time_limit(double span_s) : deadline_(deadline_in(span_s)), left_s_(span_s > 0 ? span_s : 0) {
  if (left_s_ > 0)
    monotonic_end_ns_ = monotonic_ns() + static_cast<std::int64_t>(std::ceil(std::min(span_s, 4e9) * 1e9));
}

time_limit::time_limit(const void* time_point, seconds_left left)
    : deadline_(0), time_point_(time_point), left_(left), left_s_(left(time_point)) {
  deadline_ = deadline_in(left_s_);
}

bool time_limit::passed() {
  if (!(left_s_ > 0)) return true;
  if (const worker* w = this_worker(); w != nullptr && w->home.deterministic()) return true;
  left_s_ = left_ != nullptr ? left_(time_point_) : 1e-9 * static_cast<double>(monotonic_end_ns_ - monotonic_ns());
  if (!(left_s_ > 0)) return true;
  deadline_ = deadline_in(left_s_);
  return false;
}

}  // namespace plx::detail
