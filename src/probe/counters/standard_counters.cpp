#include "probe/counters/standard_counters.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/file.hpp"

namespace plx::probe {
namespace {

rusage own_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double time_s(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

/// Present resident memory; the peak if there is no /proc.
double resident_bytes() {
  const auto text = read_file("/proc/self/statm");
  unsigned long long pages = 0;
  if (text && std::sscanf(text->c_str(), "%*u %llu", &pages) == 1)
    return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return 1024.0 * static_cast<double>(own_usage().ru_maxrss);
}

double func_s(const worker_times& t) { return t.exec_s + t.overhead_s; }
double whole(const worker_times& t) { return t.exec_s + t.idle_s + t.overhead_s + t.background_s; }

struct time_counter {
  const char* name;
  const char* unit;
  const char* help;
  double (*of)(const worker_times&);
};

// docs/probe.md has the formulas: t_exec is the time in tasks, t_func adds the time of short searches for tasks.
constexpr time_counter time_counters[] = {
    {"time/exec", "s", "Time in the functions of tasks", [](const worker_times& t) { return t.exec_s; }},
    {"time/func", "s", "Time in tasks and in short searches for them: exec + overhead", func_s},
    {"time/idle", "s", "Time without a ready task", [](const worker_times& t) { return t.idle_s; }},
    {"time/overhead", "s", "Time of searches for a task that are shorter than 2 us",
     [](const worker_times& t) { return t.overhead_s; }},
    {"time/background", "s", "Time of polling and other background work",
     [](const worker_times& t) { return t.background_s; }},
    {"background-work", "s", "The same as time/background", [](const worker_times& t) { return t.background_s; }},
    {"count/tasks", "1", "Tasks finished", [](const worker_times& t) { return static_cast<double>(t.tasks); }},
};

struct quotient_counter {
  const char* name;
  const char* unit;
  const char* help;
  double (*above)(const worker_times&);
  double (*below)(const worker_times&);
};

constexpr quotient_counter quotient_counters[] = {
    {"time/average", "s", "Mean time in the function of a task: exec / tasks",
     [](const worker_times& t) { return t.exec_s; },
     [](const worker_times& t) { return static_cast<double>(t.tasks); }},
    {"time/average-overhead", "s", "Mean time of short searches for a task: overhead / tasks",
     [](const worker_times& t) { return t.overhead_s; },
     [](const worker_times& t) { return static_cast<double>(t.tasks); }},
    {"background-overhead", "1", "Background work relative to tasks: background / (exec + overhead)",
     [](const worker_times& t) { return t.background_s; }, func_s},
    {"idle-rate", "1", "Share of time without a ready task: idle / (exec + idle + overhead + background)",
     [](const worker_times& t) { return t.idle_s; }, whole},
};

}  // namespace

worker_times times_of(const recorder& r, unsigned first, unsigned end) {
  worker_times sum;
  for (unsigned i = first; i < std::min(end, r.worker_count()); ++i) {
    const worker_times t = r.times(i);
    sum.exec_s += t.exec_s;
    sum.idle_s += t.idle_s;
    sum.overhead_s += t.overhead_s;
    sum.background_s += t.background_s;
    sum.tasks += t.tasks;
  }
  return sum;
}

std::vector<registration> add_machine_counters(counter_registry& registry) {
  std::vector<registration> all;
  const auto add = [&](const char* name, const char* unit, const char* help, bool monotonic, auto pull) {
    all.push_back(registry.add({fmt::format("/machine/{}", name), unit, help, monotonic}, pull));
  };
  add("memory/resident", "bytes", "Resident memory of this process", false, &resident_bytes);
  add("memory/peak-resident", "bytes", "Peak resident memory of this process", false,
      [] { return 1024.0 * static_cast<double>(own_usage().ru_maxrss); });
  add("time/user", "s", "Processor time of this process in its own code", true,
      [] { return time_s(own_usage().ru_utime); });
  add("time/system", "s", "Processor time of this process in the kernel", true,
      [] { return time_s(own_usage().ru_stime); });
  add("context-switches/voluntary", "1", "Times a thread of this process released its core voluntarily", true,
      [] { return static_cast<double>(own_usage().ru_nvcsw); });
  add("context-switches/involuntary", "1", "Times a thread of this process was preempted by another", true,
      [] { return static_cast<double>(own_usage().ru_nivcsw); });
  add("page-faults/minor", "1", "Page faults without reading from disk", true,
      [] { return static_cast<double>(own_usage().ru_minflt); });
  add("page-faults/major", "1", "Page faults that read from disk", true,
      [] { return static_cast<double>(own_usage().ru_majflt); });
  return all;
}

namespace {
void add_times(std::vector<registration>& all, counter_registry& registry, const recorder& r,
               const std::string& instance, unsigned first, unsigned end) {
  for (const time_counter& c : time_counters)
    all.push_back(registry.add({fmt::format("/threads{{{}}}/{}", instance, c.name), c.unit, c.help, true},
                               [&r, first, end, of = c.of] { return of(times_of(r, first, end)); }));
  for (const quotient_counter& c : quotient_counters)
    all.push_back(registry.add_ratio({fmt::format("/threads{{{}}}/{}", instance, c.name), c.unit, c.help},
                                     [&r, first, end, above = c.above, below = c.below] {
                                       const worker_times t = times_of(r, first, end);
                                       return std::pair(above(t), below(t));
                                     }));
}
}  // namespace

std::vector<registration> add_worker_counters(counter_registry& registry, const recorder& r, unsigned i) {
  std::vector<registration> all;
  add_times(all, registry, r, fmt::format("{}/worker-thread#{}", registry.locality_name(), i), i, i + 1);
  return all;
}

std::vector<registration> add_recorder_counters(counter_registry& registry, const recorder& r) {
  std::vector<registration> all;
  add_times(all, registry, r, registry.locality_name() + "/total", 0, ~0u);  // includes workers that are added later
  for (unsigned i = 0; i < r.worker_count(); ++i)
    for (registration& one : add_worker_counters(registry, r, i)) all.push_back(std::move(one));
  all.push_back(registry.add({"/probe/measurement-cost", "1", "Share of the workers' time that recording took"},
                             [&r] { return r.measurement_cost(); }));
  all.push_back(registry.add({"/probe/trace/lost", "1", "Trace records that were dropped", true},
                             [&r] { return r.trace_lost(); }));
  all.push_back(registry.add({"/probe/costs/lost", "1", "Slices without a cost per key: too many different keys", true},
                             [&r] { return r.costs_lost(); }));
  all.push_back(
      registry.add({"/probe/names/dropped", "1", "Names recorded as 'unnamed': too many different names", true},
                   [] { return names_dropped(); }));
  const auto add_idle = [&](const char* name, const char* help, double idle_blame::*of) {
    all.push_back(
        registry.add({fmt::format("/threads{{{}/total}}/idle/{}", registry.locality_name(), name), "s", help, true},
                     [&r, of] { return r.blame().*of; }));
  };
  add_idle("blamed", "Idle time of workers that is charged to the tasks that ran meanwhile", &idle_blame::blamed_s);
  add_idle("unattributed", "Idle time of workers while no task ran, or that may not take tasks",
           &idle_blame::unattributed_s);
  const auto add_wait = [&](const char* name, const char* help, double ready_wait::*of) {
    all.push_back(registry.add({fmt::format("/threads{{{}/total}}/ready-wait/{}", registry.locality_name(), name), "s",
                                fmt::format("{} time from ready to start of a sample of the tasks", help)},
                               [&r, of] { return r.ready_wait().*of; }));
  };
  add_wait("mean", "Mean", &ready_wait::mean_s);
  add_wait("median", "Median", &ready_wait::p50_s);
  add_wait("p99", "99th percentile of the", &ready_wait::p99_s);
  add_wait("max", "Longest", &ready_wait::max_s);
  return all;
}

}  // namespace plx::probe
