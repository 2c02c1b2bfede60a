#include "trace/file/run_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "trace/file/job_trace.hpp"

namespace plx::probe {
namespace {

/// The points of all clocks in the root's file.
struct clock_points final : trace_sink {
  struct point {
    unsigned locality;
    clock_point p;
  };
  void clock(unsigned locality, double, const clock_point& p) override { all.push_back({locality, p}); }
  std::vector<point> all;
};

/// Ticks of a file as ticks of this process, with the same moment at its start.
clock_map own_clock(const trace_start& s) {
  if (s.ticks_per_second == ticks_per_second()) return {};
  clock_map m(ticks_per_second(), s.ticks_per_second);
  m.add({.there = s.origin, .here = s.origin});
  return m;
}

/// Whether both processes ran on one host, so that they read the same clock: then the time of day at both starts
/// differs by as much as the clock.
bool same_clock(const trace_start& a, const trace_start& b) {
  constexpr double most_s = 1e-3, drift = 1e-3;  // of the time of day, which is adjusted, between both starts
  const double ahead_s = a.origin >= b.origin ? static_cast<double>(a.origin - b.origin) / b.ticks_per_second
                                              : -static_cast<double>(b.origin - a.origin) / b.ticks_per_second;
  return !a.host.empty() && a.host == b.host &&
         std::abs(a.unix_s - b.unix_s - ahead_s) < most_s + drift * std::abs(ahead_s);
}

clock_map clock_of(const trace_start& s, const run_file& root, const clock_points& points,
                   std::vector<std::string>& warnings) {
  clock_map m(ticks_per_second(), s.ticks_per_second);
  const double rate = ticks_per_second() / root.start.ticks_per_second;
  for (const auto& [locality, p] : points.all)
    if (locality == s.locality)
      m.add({.there = p.there,
             .here = root.clock(p.here),
             .uncertainty = static_cast<ticks>(std::lround(static_cast<double>(p.uncertainty) * rate))});
  if (m.known()) return m;
  if (points.all.empty() && same_clock(s, root.start)) return root.clock;
  const double later_s = s.unix_s - root.start.unix_s;
  const ticks begin = root.clock(root.start.origin), step = ticks_from(std::abs(later_s));
  m.add({.there = s.origin, .here = later_s >= 0 ? begin + step : begin - std::min(begin, step)});
  warnings.push_back(fmt::format(
      "locality {}: its clock was not measured; its times are converted by the time of day of its host", s.locality));
  return m;
}

/// The earliest time of that clock at or after `here` of this process.
ticks earliest(const clock_map& clock, ticks here) {
  if (!clock.known()) return here;
  ticks low = 0, high = ticks{1} << 62;
  while (low < high) {
    const ticks middle = low + (high - low) / 2;
    if (clock(middle) < here)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

result<std::vector<run_file>> run_files(const std::vector<std::string>& paths, std::vector<std::string>& warnings) {
  std::vector<run_file> all;
  for (const std::string& path : paths) {
    auto start = start_of_trace(path);
    if (!start) return start.error();
    all.push_back({path, *std::move(start), {}});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const run_file& a, const run_file& b) { return a.start.locality < b.start.locality; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const trace_start& s = all[i].start;
    if (s.locality >= std::max(s.localities, 1u) || s.localities > job_trace::most_workers)
      return error{fmt::format("'{}' is of locality {} of {}", all[i].path, s.locality, s.localities)};
    if (i > 0 && s.locality == all[i - 1].start.locality)
      return error{fmt::format("'{}' and '{}' are both of locality {}: expected the files of one run", all[i - 1].path,
                               all[i].path, s.locality)};
  }
  run_file& root = all.front();
  root.clock = own_clock(root.start);
  if (all.size() == 1) return all;
  clock_points points;
  if (const auto read = read_trace(root.path, points, {.only_small = true}); !read) return read.error();
  for (run_file& f : std::span(all).subspan(1)) f.clock = clock_of(f.start, root, points, warnings);
  return all;
}

tick_window window_of(const std::vector<run_file>& all, const run_file& one, const time_range& range) {
  if (range.whole()) return {};
  const ticks origin = all.front().clock(all.front().start.origin);
  const auto moment = [&](double s) {
    return s < 1e9 ? earliest(one.clock, origin + ticks_from(std::max(s, 0.0))) : ~ticks{0};
  };
  return {.first = moment(range.from_s), .last = moment(range.to_s)};
}

}  // namespace plx::probe
