// probe/stats, probe/trace, probe/path: ns that measurement adds to one task that is created, run and waited for,
// compared with everything off; a thousand named tasks at a time on one worker, alternating.
// probe/counter: ns per counter read.
#include <vector>

#include "base/clock.hpp"
#include "parts.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"

namespace {

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

}  // namespace

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
