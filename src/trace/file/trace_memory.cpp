#include "trace/file/trace_memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/available_memory.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "trace/file/run_files.hpp"
#include "trace/profile.hpp"

namespace plx::probe {
namespace {

constexpr double least_bytes = 1 << 26;

double left_of_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return HUGE_VAL;
  const auto pages = read_file("/proc/self/statm");
  const double used = pages ? std::strtod(pages->c_str(), nullptr) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - used);
}

/// Records of the run, with the time of the first of them in seconds since its start.
struct part {
  double from_s;
  double records;
};

result<std::vector<part>> parts_of(const std::vector<std::string>& files, const time_range& range) {
  std::vector<std::string> warnings;
  const auto run = run_files(files, warnings);
  if (!run) return run.error();
  const ticks origin = run->front().clock(run->front().start.origin);
  std::vector<part> all;
  for (const run_file& file : *run) {
    const tick_window window = window_of(*run, file, range);
    const auto extents = extents_of_trace(file.path);
    if (!extents) return extents.error();
    for (const trace_extent& e : *extents)
      if (window.overlaps(e.first, e.last))
        all.push_back({seconds(ticks_between(origin, file.clock(e.first))), static_cast<double>(e.records)});
  }
  std::sort(all.begin(), all.end(), [](const part& a, const part& b) { return a.from_s < b.from_s; });
  return all;
}

}  // namespace

double memory_for_traces() { return std::min(available_memory_bytes(), left_of_address_space()); }

result<void> check_trace_fits(const std::vector<std::string>& files, const time_range& range, trace_advice advice,
                              double available_bytes) {
  const auto parts = parts_of(files, range);
  if (!parts) return parts.error();
  double records = 0, fitting = 0, end_s = range.from_s;
  for (const part& p : *parts) {
    records += p.records;
    if (records * loaded_bytes_per_record > 0.8 * available_bytes) continue;
    fitting = records, end_s = std::max(end_s, p.from_s);
  }
  const double bytes = records * loaded_bytes_per_record;
  if (bytes < least_bytes || bytes <= available_bytes) return {};
  std::string line =
      fmt::format("'{}': its {} records take {:.3g} GB of memory here, and {:.3g} GB are available", files.front(),
                  count_text(static_cast<std::uint64_t>(records)), 1e-9 * bytes, 1e-9 * available_bytes);
  if (advice == trace_advice::none || fitting == 0)
    line += "; use a machine with more memory";
  else
    line += fmt::format("; select a part, such as --from {:.6f} --to {:.6f} with {} of them",
                        std::max(range.from_s, parts->front().from_s), end_s,
                        count_text(static_cast<std::uint64_t>(fitting)));
  return error{std::move(line)};
}

}  // namespace plx::probe
