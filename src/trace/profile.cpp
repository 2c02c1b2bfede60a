#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/monitor/machine_limits.hpp"
#include "probe/monitor/task_counts.hpp"
#include "probe/monitor/task_energy.hpp"
#include "probe/record/device_lanes.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/profile.hpp"

namespace plx::probe {
namespace {

bool begins_character(char c) { return static_cast<unsigned char>(c) >> 6 != 2; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// The first n characters.
std::string_view first(std::string_view text, std::size_t n) {
  std::size_t i = 0;
  for (; i < text.size(); ++i)
    if (begins_character(text[i]) && n-- == 0) break;
  return text.substr(0, i);
}

}  // namespace

std::string time_text(double seconds) {
  if (seconds == 0) return "0";
  struct unit {
    double size;
    const char* name;
  };
  constexpr unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  const double size = std::abs(seconds);
  const unit* u =
      std::find_if(std::begin(units), std::end(units) - 1, [&](const unit& x) { return size >= 0.9995 * x.size; });
  const double n = seconds / u->size;
  const int decimals = std::abs(n) < 9.995 ? 2 : std::abs(n) < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", n, decimals, u->name);
}

std::string count_text(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string share_text(double share) {
  if (share > 0 && share < 0.0005) return "<0.1 %";
  return fmt::format("{:.1f} %", 100 * share);
}

std::string shortened(std::string_view any_text, std::size_t width) {
  PLX_ASSERT(width >= 8, width);
  const std::string text = printable(any_text);
  const std::size_t n = characters(text);
  if (n <= width) return text;
  const std::size_t tail = (width - 3) / 2, head = width - 3 - tail;
  const std::size_t skipped = first(text, n - tail).size();
  return std::string(first(text, head)) + "..." + text.substr(skipped);
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, characters(text)), ' ');
}

std::string right(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, characters(text)), ' ') + std::string(text);
}

namespace {

constexpr std::size_t widest_name = 38;

double sum_of_totals(const std::vector<task_statistics>& all) {
  double sum = 0;
  for (const task_statistics& t : all) sum += t.total_s;
  return sum;
}

double share_of(double part, double all) { return all > 0 ? part / all : 0.0; }

std::uint64_t yields(const task_statistics& t) { return t.slices - t.calls; }

std::string row(const task_statistics& t, double sum_s, std::size_t width) {
  const bool ended = t.calls != 0;  // otherwise there are no durations
  const auto of_calls = [&](double s) { return right(ended ? time_text(s) : "-", 8); };
  return fmt::format("{} {} {} {} {} {} {} {} {}\n", padded(shortened(t.name, widest_name), width),
                     right(count_text(t.calls), 11), right(count_text(yields(t)), 9), of_calls(t.min_s),
                     of_calls(t.mean_s), of_calls(t.max_s), of_calls(t.stddev_s), right(time_text(t.total_s), 8),
                     right(share_text(share_of(t.total_s, sum_s)), 7));
}

std::string heading_of(std::size_t width) {
  return fmt::format("{} {:>11} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7}\n", padded("task", width), "calls", "yields",
                     "min", "mean", "max", "stddev", "total", "share");
}

/// "idle time charged to: "setup" 61.0 %, "relax" 3.0 %, unattributed 36.0 %"; "" where there is next to none.
std::string blame_text(const recorder& r, double all_s) {
  constexpr std::size_t most = 3;
  const idle_blame idle = r.blame();
  const double sum_s = idle.blamed_s + idle.unattributed_s;
  if (sum_s <= 0.01 * all_s) return {};
  std::vector<task_statistics> types = r.tasks();
  std::stable_sort(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.blamed_s > b.blamed_s; });
  std::string text = "idle time charged to:";
  for (std::size_t i = 0; i < std::min(types.size(), most); ++i)
    if (types[i].blamed_s >= 0.01 * sum_s)
      fmt::format_to(std::back_inserter(text), " \"{}\" {},", shortened(types[i].name, 16),
                     share_text(types[i].blamed_s / sum_s));
  return text + fmt::format(" unattributed {}\n", share_text(idle.unattributed_s / sum_s));
}

/// " "relax" 61.0 %, "setup" 3.0 %, no task 36.0 %": the task types with most of it. `of` gives the part of a type.
template <class Of>
std::string largest_parts(const recorder& r, double total, double no_task, Of of) {
  constexpr std::size_t most = 3;
  std::vector<task_statistics> types = r.tasks();
  std::stable_sort(types.begin(), types.end(), [&](const auto& a, const auto& b) { return of(a.id) > of(b.id); });
  std::string text;
  for (std::size_t i = 0; i < std::min(types.size(), most); ++i)
    if (const double part = of(types[i].id); part > 0 && part >= 0.01 * total)
      fmt::format_to(std::back_inserter(text), " \"{}\" {},", shortened(types[i].name, 16),
                     share_text(share_of(part, total)));
  return text + fmt::format(" no task {}\n", share_text(share_of(no_task, total)));
}

/// "energy of the machine: 81.2 J: ...".
std::string energy_text(const recorder& r, const energy_of_tasks& energy) {
  return fmt::format("energy of the machine: {:.3g} J:", energy.total) +
         largest_parts(r, energy.total, energy.no_task, [&](name_id id) { return energy.of(id); });
}

/// A line per event: "page-faults: 12,345: ...".
std::string events_text(const recorder& r, const counts_of_tasks& counts) {
  std::string text;
  for (std::size_t e = 0; e < counts.events.size(); ++e) {
    const bool time = counts.events[e].scale != 1;
    const auto total = static_cast<double>(counts.total[e]);
    text += fmt::format("{}: {}:", counts.events[e].name,
                        time ? time_text(counts.events[e].scale * total) : count_text(counts.total[e]));
    text += largest_parts(r, total, static_cast<double>(counts.no_task[e]),
                          [&](name_id id) { return static_cast<double>(counts.of(id).events[e]); });
  }
  return text;
}

/// "limits of 2 workers: memory 10.1 GB/s, 45.2 Gflop/s: "relax" 91.0 % of memory, "fit" 12.0 % of flops". A type that
/// ran on one worker at a time is compared with that worker's part of the limits.
std::string roofline_text(const recorder& r, const counts_of_tasks& counts, const machine_limits& limits) {
  constexpr std::size_t most = 3;
  std::string text = fmt::format("limits of {}: memory {:.3g} GB/s, {:.3g} Gflop/s", plural(limits.threads, "worker"),
                                 1e-9 * limits.bytes_per_s, 1e-9 * limits.flops_per_s);
  std::size_t n = 0;
  for (const task_statistics& t : r.tasks()) {
    const counts_of_tasks::of_task work = counts.of(t.id);
    if ((work.flops == 0 && work.bytes == 0) || t.total_s <= 0 || n == most) continue;
    const double per_s = limits.threads / t.total_s;
    const double of_memory = share_of(work.bytes * per_s, limits.bytes_per_s);
    const double of_flops = share_of(work.flops * per_s, limits.flops_per_s);
    fmt::format_to(std::back_inserter(text), "{} \"{}\" {} of {}", n++ == 0 ? ":" : ",", shortened(t.name, 16),
                   share_text(std::max(of_memory, of_flops)), of_memory >= of_flops ? "memory" : "flops");
  }
  return text + (n == 0 ? ": no task type stated its work\n" : "\n");
}

std::string what_workers_did(const recorder& r) {
  const worker_times t = times_of(r);
  const double all = t.exec_s + t.idle_s + t.overhead_s + t.background_s;
  return fmt::format(
      "{} {} on {}, {} of worker time: tasks {}, idle {}, searching {}, background {}\n"
      "measuring cost {} of that\n{}",
      count_text(t.tasks), noun(t.tasks, "task"), plural(r.worker_count(), "worker"), time_text(all),
      share_text(share_of(t.exec_s, all)), share_text(share_of(t.idle_s, all)), share_text(share_of(t.overhead_s, all)),
      share_text(share_of(t.background_s, all)), share_text(r.measurement_cost()), blame_text(r, all));
}

double busy_of(const std::vector<device_times>& all, const std::string& device) {
  for (const device_times& t : all)
    if (t.device == device) return t.busy_s;
  return 0;
}

double mean_of(const device_statistics& d) { return d.calls == 0 ? 0 : d.total_s / static_cast<double>(d.calls); }
double rate_of(const device_statistics& d) { return d.total_s > 0 ? static_cast<double>(d.bytes) / d.total_s : 0; }

/// TAU's names are quoted and have no escapes.
std::string tau_name(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c == '"') c = '\'';
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return plain;
}

void tau_row(std::string& text, std::string_view name, std::uint64_t calls, double seconds, const char* group) {
  fmt::format_to(std::back_inserter(text), "\"{}\" {} 0 {:.9g} {:.9g} 0 GROUP=\"{}\"\n", tau_name(name), calls,
                 1e6 * seconds, 1e6 * seconds, group);
}

std::string tau_profile(const recorder& r, unsigned worker) {
  const std::vector<task_statistics> tasks = r.tasks(worker);
  const worker_times t = r.times(worker);
  std::string text =
      fmt::format("{} templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n", tasks.size() + 3);
  for (const task_statistics& s : tasks) tau_row(text, s.name, s.calls, s.total_s, "TAU_USER");
  tau_row(text, "[worker] idle", 1, t.idle_s, "PLX_RUNTIME");
  tau_row(text, "[worker] searching", 1, t.overhead_s, "PLX_RUNTIME");
  tau_row(text, "[worker] background", 1, t.background_s, "PLX_RUNTIME");
  return text + "0 aggregates\n";
}

}  // namespace

std::string profile_text(const recorder& r, std::size_t rows, const measured_of_tasks& more) {
  const std::vector<task_statistics> all = r.tasks();
  const double sum_s = sum_of_totals(all);
  const std::size_t shown = all.size() <= rows + 1 ? all.size() : rows;  // one more row is as short as its summary
  std::size_t width = 12;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, std::min(all[i].name.size(), widest_name));
  std::string text = heading_of(width);
  for (std::size_t i = 0; i < shown; ++i) text += row(all[i], sum_s, width);
  if (shown < all.size()) {
    double rest_s = 0;
    for (std::size_t i = shown; i < all.size(); ++i) rest_s += all[i].total_s;
    text += fmt::format("and {} more task types, {} in total, {}\n", all.size() - shown, time_text(rest_s),
                        share_text(share_of(rest_s, sum_s)));
  }
  text += what_workers_did(r);
  if (more.energy != nullptr) text += energy_text(r, *more.energy);
  if (more.counts != nullptr) text += events_text(r, *more.counts);
  if (more.counts != nullptr && more.limits != nullptr) text += roofline_text(r, *more.counts, *more.limits);
  return text;
}

result<void> write_profile_csv(const recorder& r, const std::string& path, const measured_of_tasks& more) {
  const std::vector<task_statistics> all = r.tasks();
  const double sum_s = sum_of_totals(all);
  const std::vector<counted_event> events = more.counts != nullptr ? more.counts->events : std::vector<counted_event>{};
  const bool work = more.counts != nullptr && more.counts->work;
  std::string text =
      "name,calls,yields,total_s,mean_s,min_s,max_s,stddev_s,share,idle_blame_s,lock_blame_s,p50_s,p99_s";
  if (more.energy != nullptr) text += ",energy_j";
  for (const counted_event& e : events) text += ",perf:" + e.name;
  text += work ? ",flops,bytes\n" : "\n";
  for (const task_statistics& t : all) {
    const auto to = std::back_inserter(text);
    fmt::format_to(to, "{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.6f},{:.9g},{:.9g},{:.4g},{:.4g}",
                   csv_field(t.name), t.calls, yields(t), t.total_s, t.mean_s, t.min_s, t.max_s, t.stddev_s,
                   share_of(t.total_s, sum_s), t.blamed_s, t.lock_waits_s, t.p50_s, t.p99_s);
    if (more.energy != nullptr) fmt::format_to(to, ",{:.9g}", more.energy->of(t.id));
    const counts_of_tasks::of_task counted =
        more.counts != nullptr ? more.counts->of(t.id) : counts_of_tasks::of_task{};
    for (std::size_t e = 0; e < events.size(); ++e) fmt::format_to(to, ",{}", events[e].text(counted.events[e]));
    if (work) fmt::format_to(to, ",{:.9g},{:.9g}", counted.flops, counted.bytes);
    text += '\n';
  }
  return write_measurement(path, text);
}

std::string device_profile_text(const recorder& r, std::size_t rows) {
  const std::vector<device_statistics> all = r.devices().work();
  const std::vector<device_times> times = r.devices().times();
  if (all.empty()) return {};
  const std::size_t shown = std::min(all.size(), rows);
  std::size_t width = 12;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, std::min(all[i].name.size(), widest_name));
  std::string text =
      fmt::format("{} {:<6} {:>11} {:>11} {:>8} {:>8} {:>8} {:>8} {:>7} {:>8}\n", padded("on devices", width), "kind",
                  "calls", "items", "min", "mean", "max", "total", "share", "GB/s");
  for (std::size_t i = 0; i < shown; ++i) {
    const device_statistics& d = all[i];
    const double busy_s = busy_of(times, d.device);
    fmt::format_to(std::back_inserter(text), "{} {:<6} {} {} {} {} {} {} {} {:>8}\n",
                   padded(shortened(d.name, widest_name), width), text_of(d.kind), right(count_text(d.calls), 11),
                   right(count_text(d.items), 11), right(time_text(d.min_s), 8), right(time_text(mean_of(d)), 8),
                   right(time_text(d.max_s), 8), right(time_text(d.total_s), 8),
                   right(share_text(share_of(d.total_s, busy_s)), 7),
                   d.bytes == 0 ? std::string("-") : fmt::format("{:.3g}", 1e-9 * rate_of(d)));
  }
  if (shown < all.size()) fmt::format_to(std::back_inserter(text), "and {} more\n", all.size() - shown);
  for (const device_times& t : times)
    fmt::format_to(std::back_inserter(text), "{}: {} {} in {}, busy {} of {} ({}){}\n", t.device,
                   count_text(t.operations), noun(t.operations, "operation"), plural(t.lanes, "stream"),
                   time_text(t.busy_s), time_text(t.known_s), share_text(share_of(t.busy_s, t.known_s)),
                   t.lost == 0 ? std::string() : fmt::format(", {} dropped", count_text(t.lost)));
  return text;
}

result<void> write_device_profile_csv(const recorder& r, const std::string& path) {
  const std::vector<device_times> times = r.devices().times();
  std::string text = "device,kind,name,calls,items,failed,total_s,mean_s,min_s,max_s,share,bytes,bytes_per_s\n";
  for (const device_statistics& d : r.devices().work())
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.6f},{},{:.6g}\n",
                   csv_field(d.device), text_of(d.kind), csv_field(d.name), d.calls, d.items, d.failed, d.total_s,
                   mean_of(d), d.min_s, d.max_s, share_of(d.total_s, busy_of(times, d.device)), d.bytes, rate_of(d));
  return write_measurement(path, text);
}

result<void> write_tau_profiles(const recorder& r, unsigned locality, const std::string& folder) {
  for (unsigned w = 0; w < r.worker_count(); ++w)
    if (auto done = write_measurement(fmt::format("{}/profile.{}.0.{}", folder, locality, w), tau_profile(r, w)); !done)
      return done;
  return {};
}

}  // namespace plx::probe
