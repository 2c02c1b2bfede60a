// probe/record/*: cost of recording one slice: ns per worker_log::record in addition to an empty loop, excluding the
// clock read, which the scheduler makes anyway. probe/off is the first of them.
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "parts.hpp"
#include "probe/record/recorder.hpp"

namespace {

using namespace plx::probe;

constexpr int calls = 20'000;
constexpr int turns = 101;

struct workload {
  const char* name;
  unsigned names;      // a power of two
  std::uint64_t keys;  // a power of two; 0: no key
  std::uint64_t first_key;
  std::uint32_t mode;
};

/// ns per iteration of the loop; without a log the loop creates the slices and drops them.
double run(const workload& w, worker_log* log) {
  std::uint64_t key = 0;
  const plx::ticks start = plx::now_ticks();
  for (std::uint32_t i = 0; i < calls; ++i) {
    key = (key + 7919) & (w.keys - 1);
    const task_slice s{.name = i & (w.names - 1),
                       .key = w.keys == 0 ? no_key : w.first_key + key,
                       .begin = i,
                       .end = 3 * plx::ticks{i} + 50};
    asm volatile("" : : "r"(&s) : "memory");  // keeps the slice from being optimized away
    if (log != nullptr) log->record(s);
  }
  return 1e9 * plx::seconds(plx::now_ticks() - start) / calls;
}

}  // namespace

void measure_record(plx::bench::report& report) {
  constexpr std::uint32_t both = worker_log::statistics | worker_log::costs;
  const workload workloads[] = {
      {"probe/off", 8, 0, 0, 0},
      {"probe/record/statistics", 8, 0, 0, both},
      {"probe/record/key", 8, 512, 0, both},
      {"probe/record/large_key", 8, 512, 1ull << 40, both},
      {"probe/record/traced", 8, 512, 0, both | worker_log::tracing},
  };
  recorder r(1);
  r.trace(true, 2 * calls);
  for (const workload& w : workloads) {
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
