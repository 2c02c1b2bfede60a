#include "session/diagnose_log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "probe/record/text_sink.hpp"

namespace plx::probe {
namespace {

constexpr std::string_view watched[] = {
    "/machine/memory/resident",
    "/machine/time/user",
    "/machine/time/system",
    "/machine/context-switches/voluntary",
    "/machine/context-switches/involuntary",
    "/machine/page-faults/minor",
    "/machine/page-faults/major",
    "/machine/io/read",
    "/machine/io/written",
    "/machine/io/disk-read",
    "/machine/io/disk-written",
    "/threads{locality#0/total}/time/exec",
    "/threads{locality#0/total}/time/idle",
    "/threads{locality#0/total}/time/overhead",
    "/threads{locality#0/total}/idle/unattributed",
    "/threads{locality#0/total}/count/tasks",
    "/threads{locality#0/total}/count/idle-periods",
    "/threads{locality#0/total}/wait/time/mutex",
    "/threads{locality#0/total}/wait/time/shared_mutex",
    "/threads{locality#0/total}/time/processor",
    "/threads{locality#0/total}/time/waiting-for-processor",
    "/scheduler{locality#0/total}/queue/length",
    "/scheduler{locality#0/total}/queue/injected",
    "/scheduler{locality#0/total}/queue/placed",
    "/scheduler{locality#0/total}/tasks/suspended",
    "/gpu{locality#0/device#*}/time/busy",
    "/calls{locality#0/total}/time/unanswered",
};
/// The state of the machine, which changes slowly: in one of `slow_calls` calls, and at the end.
constexpr std::string_view slow_ones[] = {
    "/system{total}/cpu/frequency",  "/system{*}/cpu/governor", "/system/throttles/core", "/system/throttles/package",
    "/system/temperature/processor", "/system/cpu/others",      "/system/cpu/steal",
};
/// A power of two, as the intervals of samples are: where samples are dropped, these are kept.
constexpr std::uint64_t slow_calls = 8;

/// At the end only. Kernel events are per worker in a runtime, and per process under plx-exec.
constexpr std::string_view final_ones[] = {
    "/scheduler{locality#0/total}/task-cost",
    "/probe/measurement-cost",
    "/system{total}/energy",
    "/perf{locality#0/total}/instructions",
    "/perf{locality#0/total}/cycles",
    "/perf{process}/instructions",
    "/perf{process}/cycles",
};

double machine_bytes() {
  const auto text = read_file("/proc/meminfo");
  unsigned long long kib = 0;
  return text && std::sscanf(text->c_str(), "MemTotal: %llu", &kib) == 1 ? 1024.0 * static_cast<double>(kib) : 0.0;
}

/// Names are those of locality 0; the counter read is that of the registry's own locality.
void add_counter(std::vector<counter_value>& to, const counter_registry& counters, std::string name) {
  constexpr std::string_view first = "locality#0";
  if (const std::size_t at = name.find(first); at != std::string::npos)
    name.replace(at, first.size(), counters.locality_name());
  if (auto values = counters.query(name))
    for (counter_value& v : *values) to.push_back(std::move(v));
}

template <std::size_t N>
void add_all(std::vector<counter_value>& to, const counter_registry& counters, const std::string_view (&names)[N]) {
  for (const std::string_view name : names) add_counter(to, counters, std::string(name));
}

/// The processors that the workers may use, or without a runtime this process; 0 if unknown.
double processors(const counter_registry& counters) {
  std::vector<counter_value> of_workers;
  add_counter(of_workers, counters, "/scheduler{locality#0/total}/processors");
  return of_workers.empty() ? usable_processors() : of_workers.front().value;
}

result<void> write_workers_csv(const std::vector<worker_times>& times, const counter_registry& counters,
                               const std::string& path) {
  std::string text = "worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s\n";
  for (unsigned w = 0; w < times.size(); ++w) {
    const worker_times& t = times[w];
    const auto counter_of = [&](std::string_view name) -> std::optional<double> {
      const auto values =
          counters.query(fmt::format("/threads{{{}/worker-thread#{}}}/{}", counters.locality_name(), w, name));
      return values && !values->empty() ? std::optional(values->front().value) : std::nullopt;
    };
    const auto time_of = [&](std::string_view name) {  // empty if the system does not report it
      const auto value = counter_of(name);
      return value ? fmt::format("{:.6f}", *value) : std::string();
    };
    fmt::format_to(std::back_inserter(text), "{},{:.6f},{:.6f},{:.6f},{:.6f},{},{:.0f},{},{}\n", w, t.exec_s,
                   t.overhead_s, t.background_s, t.idle_s, t.tasks, counter_of("count/steals").value_or(0.0),
                   time_of("time/processor"), time_of("time/waiting-for-processor"));
  }
  return write_measurement(path, text);
}

}  // namespace

diagnose_log::diagnose_log(const recorder& r, const counter_registry& counters)
    : recorder_(r), counters_(counters), begin_s_(monotonic_seconds()) {}

void diagnose_log::sample() {
  const std::uint64_t call = called_++;
  if (call % every_ != 0) return;
  if (moments_.size() >= most_samples) {
    every_ *= 2;
    std::erase_if(moments_, [this](const moment& m) { return m.call % every_ != 0; });
  }
  keep(call);
  if (call % slow_calls == 0) add_all(moments_.back().values, counters_, slow_ones);
}

void diagnose_log::keep(std::uint64_t call) {
  moment now{call, monotonic_seconds() - begin_s_, {}};
  add_all(now.values, counters_, watched);
  moments_.push_back(std::move(now));
}

std::vector<worker_times> diagnose_log::keep_last() {
  // Idle workers' times grow meanwhile: a thread that lost its core between the two begins again.
  constexpr double longest_s = 1e-3;
  for (int turn = 0;; ++turn) {
    const double begin_s = monotonic_seconds();
    std::vector<worker_times> times;
    for (unsigned w = 0; w < recorder_.worker_count(); ++w) times.push_back(recorder_.times(w));
    keep(~std::uint64_t{0});
    if (monotonic_seconds() - begin_s <= longest_s || turn == 20) return times;
    moments_.pop_back();
  }
}

result<void> diagnose_log::write(const std::string& folder) {
  const std::vector<worker_times> times = keep_last();
  add_all(moments_.back().values, counters_, slow_ones);
  add_all(moments_.back().values, counters_, final_ones);
  if (const double span_s = recorder_.span_s(); span_s > 0)
    moments_.back().values.push_back(
        {fmt::format("/threads{{{}/total}}/time/span", counters_.locality_name()), span_s, "s"});
  if (const double bytes = machine_bytes(); bytes > 0)
    moments_.back().values.push_back({"/machine/memory/total", bytes, "bytes"});
  if (const double n = processors(counters_); n > 0) moments_.back().values.push_back({"/machine/processors", n, "1"});
  std::string text = "time_s,name,value,unit\n";
  for (const moment& m : moments_)
    for (const counter_value& v : m.values)
      fmt::format_to(std::back_inserter(text), "{:.6f},{},{:.9g},{}\n", m.time_s, csv_field(v.name), v.value,
                     csv_field(v.unit));
  if (auto r = write_measurement(folder + "/diagnose.csv", text); !r) return r;
  return write_workers_csv(times, counters_, folder + "/workers.csv");
}

}  // namespace plx::probe
