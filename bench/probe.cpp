// Cost of measurement: of a record, a task, a counter read, and a whole application. `--app`, `--app-16` or `--tasks`
// run that part only.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gas_workload.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/counters/periodic_thread.hpp"
#include "probe/record/recorder.hpp"
#include "probe/sample/sampler.hpp"
#include "report.hpp"
#include "rt/measure/scheduler_counters.hpp"
#include "rt/runtime.hpp"

namespace {

// probe/record/*: cost of recording one slice: ns per worker_log::record in addition to an empty loop, excluding the
// clock read, which the scheduler makes anyway. probe/off is the first of them.
namespace of_record {

using namespace plx::probe;

constexpr int calls = 20'000;
constexpr int turns = 101;

struct workload {
  const char* name;
  unsigned names;      // a power of two
  std::uint64_t keys;  // a power of two; 0: no key
  std::uint64_t first_key;
  std::uint32_t mode;
  bool idle = false;  // another worker is idle, for which each slice is charged
};

/// ns per iteration of the loop; without a log the loop creates the slices and drops them.
double run(const workload& w, worker_log* log) {
  std::uint64_t key = 0;
  plx::ticks at = plx::now_ticks();  // of the slices: later than the worker that is idle has fallen asleep
  const plx::ticks start = at;
  for (std::uint32_t i = 0; i < calls; ++i) {
    key = (key + 7919) & (w.keys - 1);
    const task_slice s{.name = i & (w.names - 1),
                       .key = w.keys == 0 ? no_key : w.first_key + key,
                       .begin = at,
                       .end = at + i / 8 + 50};
    at = s.end;
    asm volatile("" : : "r"(&s) : "memory");  // keeps the slice from being optimized away
    if (log != nullptr) log->record(s);
  }
  return 1e9 * plx::seconds(plx::now_ticks() - start) / calls;
}

void measure_record(plx::bench::report& report) {
  constexpr std::uint32_t both = worker_log::statistics | worker_log::costs;
  const workload workloads[] = {
      {"probe/off", 8, 0, 0, 0},
      {"probe/record/statistics", 8, 0, 0, both},
      {"probe/record/key", 8, 512, 0, both},
      {"probe/record/large_key", 8, 512, 1ull << 40, both},
      {"probe/record/traced", 8, 512, 0, both | worker_log::tracing},
      {"probe/record/blamed", 8, 0, 0, both, true},
  };
  recorder r(2);
  r.trace(true, 2 * calls);
  for (unsigned i = 0; i < 2; ++i) r.worker(i).join(r.balance(), 0);
  for (const workload& w : workloads) {
    if (w.idle) r.worker(1).sleeps(0, 0);
    std::vector<double> costs;
    for (int turn = 0; turn < turns; ++turn) {
      const double empty = run(w, nullptr);
      r.worker(0).set_mode(w.mode);
      costs.push_back(run(w, &r.worker(0)) - empty);
      r.drain();
    }
    report.add(w.name, plx::bench::median(costs), "ns", plx::bench::lower);
  }
}

}  // namespace of_record

// probe/stats, probe/trace, probe/path: ns that measurement adds to one task that is created, run and waited for,
// compared with everything off; a thousand named tasks at a time on one worker, alternating.
// probe/counter: ns per counter read.
namespace of_task {

constexpr int batch = 1000, batches = 10, turns = 41;

enum mode : int { off, stats, path, trace, n_modes };

void switch_to(plx::probe::recorder& r, mode m) {
  r.statistics(m != off);
  r.costs(m != off);
  r.flight(m == off ? 0 : plx::probe::default_flight_records);
  r.paths(m == path);
  r.trace(m == trace, std::size_t{1} << 16);
}

/// ns per task.
double run(plx::runtime& rt) {
  static const plx::task_info info{plx::probe::register_name("bench task"), 7};
  return rt.run([] {
    std::vector<plx::future<void>> all(batch);
    const plx::ticks begin = plx::now_ticks();
    for (int b = 0; b < batches; ++b) {
      for (auto& f : all) f = plx::async(info, [] {});
      for (auto& f : all) f.get();
    }
    return 1e9 * plx::seconds(plx::now_ticks() - begin) / (batch * batches);
  });
}

// A value of one worker, by its name and through a handle, and all existing counters.
void measure_counter(plx::bench::report& report, plx::runtime& rt) {
  const auto& counters = rt.counters();
  const auto handle = counters.find("/threads{locality#0/worker-thread#0}/count/scheduled").value();
  double sum = 0;  // keeps the reads from being optimized away
  const auto ns_of = [&](int reads, auto&& read) {
    std::vector<double> ns;
    for (int turn = 0; turn < turns; ++turn) {
      const plx::ticks begin = plx::now_ticks();
      for (int i = 0; i < reads; ++i) sum += read();
      ns.push_back(1e9 * plx::seconds(plx::now_ticks() - begin) / reads);
    }
    return plx::bench::median(ns);
  };
  const auto by_name = [&] {
    return counters.query("/threads{locality#0/worker-thread#0}/count/scheduled").value()[0].value;
  };
  const auto all = [&] { return static_cast<double>(counters.query("/threads{*}/*").value().size()); };
  report.add("probe/counter", ns_of(1000, by_name), "ns per query", plx::bench::lower);
  report.add("probe/counter/handle", ns_of(1000, [&] { return handle.value(); }), "ns per read", plx::bench::lower);
  report.add("probe/counter/all", ns_of(10, all) / all(), "ns per counter of a pattern", plx::bench::lower);
  asm volatile("" : : "g"(&sum) : "memory");
}

void measure_task(plx::bench::report& report) {
  plx::runtime rt({.workers = 1});
  std::vector<double> added[n_modes];
  for (int turn = 0; turn < turns; ++turn) {
    double ns[n_modes] = {};
    for (int m = 0; m < n_modes; ++m) {
      switch_to(rt.recorder(), static_cast<mode>(m));
      run(rt);
      rt.recorder().drain();
      ns[m] = run(rt);
    }
    for (int m = 0; m < n_modes; ++m) added[m].push_back(m == off ? ns[off] : ns[m] - ns[off]);
  }
  report.add("probe/task", plx::bench::median(added[off]), "ns, everything off", plx::bench::lower);
  report.add("probe/stats", plx::bench::median(added[stats]), "ns", plx::bench::lower);
  report.add("probe/path", plx::bench::median(added[path]), "ns", plx::bench::lower);
  report.add("probe/trace", plx::bench::median(added[trace]), "ns", plx::bench::lower);
  measure_counter(report, rt);
}

}  // namespace of_task

// probe/app/*: percent that measurement adds to a blast wave (Sedov) on all workers, alternating with the same run
// without measurement. stats: the statistics of every run, and all counters read once per second. trace: every task,
// its causes, and the reader that empties the rings. task: the mean length of a task in us; the goals hold for tasks of
// 100 us. samples-100 and -1000: stacks sampled at that rate. Blocks of 8^3 cells; probe/app/16/*: blocks of 16^3,
// whose tasks are longer.
namespace of_app {

using namespace plx;

class application {
 public:
  application(int blocks, int cells)
      : blast_(bench::input_of(text_of(std::to_string(blocks), std::to_string(cells)))) {}
  probe::recorder& recorder() { return blast_.tasks().recorder(); }
  probe::counter_registry& counters() { return blast_.tasks().counters(); }

  detail::scheduler& scheduler() { return blast_.tasks().get_scheduler(); }

  /// Mean length of all tasks so far, in us.
  double mean_task_us() {
    double time_s = 0, calls = 0;
    for (const auto& t : recorder().tasks()) {
      time_s += t.total_s;
      calls += static_cast<double>(t.calls);
    }
    return 1e6 * time_s / calls;
  }

  /// Seconds of one step.
  double step() { return blast_.measure(); }

 private:
  static std::string text_of(const std::string& blocks, const std::string& cells) {
    return "[problem]\nname = \"sedov\"\n[sedov]\nradius = 0.1\n[mesh]\nblock_size = " + cells + "\nroot_blocks = [" +
           blocks + "," + blocks + "," + blocks + "]\nmax_level = 0\n";
  }
  bench::gas_workload blast_;
};

enum mode : int { off, stats, trace, samples_100, samples_1000, n_modes };

/// With samples: statistics, as in every run.
void switch_to(application& app, mode m) {
  probe::recorder& r = app.recorder();
  r.statistics(m != off);
  r.costs(m != off);
  r.flight(m == off ? 0 : probe::default_flight_records);
  r.trace(m == trace);
}

void measure_app(bench::report& report, const std::string& name, int blocks, int cells) {
  constexpr int turns = 60;
  application app(blocks, cells);
  probe::periodic_thread periodic;
  for (int i = 0; i < 3; ++i) app.step();
  std::vector<double> share[n_modes];
  for (int turn = 0; turn < turns; ++turn) {
    double seconds[n_modes] = {};
    for (int k = 0; k < n_modes; ++k) {
      const auto m = static_cast<mode>((turn + k) % n_modes);  // no mode is always the first
      switch_to(app, m);
      std::uint64_t reader = 0;
      if (m == stats) reader = periodic.every(1, [&] { (void)app.counters().query("/*{*}/*@*"); });
      if (m == trace) reader = periodic.every(0.02, [&] { app.recorder().drain(); });
      std::unique_ptr<probe::sampler> stacks;
      if (m == samples_100 || m == samples_1000) {
        stacks = probe::sampler::start(m == samples_100 ? 100 : 1000).value();
        detail::sample_stacks(*stacks, app.scheduler());
        reader = periodic.every(0.1, [&] { stacks->drain(); });
      }
      app.step();
      seconds[m] = app.step() + app.step() + app.step();
      if (reader != 0) periodic.remove(reader);
    }
    for (int m = 0; m < n_modes; ++m) share[m].push_back(100 * (seconds[m] / seconds[off] - 1));
  }
  report.add(name + "/task", app.mean_task_us(), "us", bench::lower);
  report.add(name + "/stats", bench::median(share[stats]), "%", bench::lower);
  report.add(name + "/trace", bench::median(share[trace]), "%", bench::lower);
  report.add(name + "/samples-100", bench::median(share[samples_100]), "%", bench::lower);
  report.add(name + "/samples-1000", bench::median(share[samples_1000]), "%", bench::lower);
}

}  // namespace of_app

}  // namespace

int main(int argc, char** argv) {
  plx::bench::report report(argc, argv);
  const auto wants = [&](const char* part) {
    return report.rest().empty() || std::find(report.rest().begin(), report.rest().end(), part) != report.rest().end();
  };
  if (wants("--tasks")) {
    of_record::measure_record(report);
    of_task::measure_task(report);
  }
  if (wants("--app")) of_app::measure_app(report, "probe/app", 8, 8);
  if (wants("--app") || wants("--app-16")) of_app::measure_app(report, "probe/app/16", 4, 16);
  return report.finish();
}
