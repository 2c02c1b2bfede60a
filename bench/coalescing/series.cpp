#include "series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

#include "base/clock.hpp"
#include "net/core/node.hpp"
#include "net/job.hpp"
#include "net/parcels/collector.hpp"

namespace plx::bench {
namespace {

using sums = std::array<double, 5>;  // time, overhead, parcels, messages, bytes

// The maximum of the time, and the sums of the other values.
struct together {
  sums operator()(const sums& a, const sums& b) const {
    return {std::max(a[0], b[0]), a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]};
  }
};

template <class T>
T need(result<T> r) {
  if (!r) throw std::runtime_error(r.error().message);
  return *std::move(r);
}

}  // namespace

series::series(job& j, const options& o, std::string_view action)
    : job_(j), action_(action), made_s_(monotonic_seconds()) {
  action_index_ = need(net::find_action(action))->index;
  overhead_ = need(j.home().counters().find("/network/overhead"));
  if (j.here() != 0) return;
  out_ = need(open_csv(o.csv));
}

void series::set(std::string_view setting) const {
  const auto done = net::coalesce_as(job_.node(), fmt::format("{}={}", action_, setting));
  if (!done) throw std::runtime_error(done.error().message);
}

double series::elapsed_s() const { return monotonic_seconds() - made_s_; }

double series::start() {
  before_ = job_.node().port().counts();  // before others may send: this locality may leave the barrier after them
  all_.barrier().get();
  static_cast<void>(overhead_.read(probe::after_reading::reset));
  return monotonic_seconds();
}

sample series::end(double counted_s, double begin) {
  const double time_s = counted_s >= 0 ? counted_s : monotonic_seconds() - begin;
  all_.barrier().get();  // until then this locality serves the others
  const net::port_counts now = job_.node().port().counts();
  const sums mine{time_s, need(overhead_.read()), static_cast<double>(now.parcels_sent - before_.parcels_sent),
                  static_cast<double>(now.messages_sent - before_.messages_sent),
                  static_cast<double>(now.bytes_sent - before_.bytes_sent)};
  const sums s = all_.all_reduce(mine, together()).get();
  return {s[0], s[1] / job_.size(), s[2], s[3], s[4]};
}

void series::write(const label& l, double at_s, const sample& s) const {
  if (out_ == nullptr) return;
  const coalescing how = job_.node().port().how_collected(action_index_);
  const bool fixed = how.way == coalescing_way::fixed;
  const std::string line =
      fmt::format("{},\"{}\",{},{},\"{}\",{},{},{},{:.6f},{:.9f},{:.6f},{:.0f},{:.0f},{:.0f}\n", l.part, l.variant,
                  l.size, l.turn, l.setting, fixed ? how.parcels : 0, fixed ? how.interval_us : 0, l.phase, at_s,
                  s.time_s, s.overhead, s.parcels, s.messages, s.bytes);
  std::fputs(line.c_str(), out_.get());
  std::fflush(out_.get());
}

void expect_same(bool same, std::string_view what) {
  if (!same) throw std::runtime_error(fmt::format("{}: what arrived is not what was sent", what));
}

}  // namespace plx::bench
