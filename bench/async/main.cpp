// async/plx: ns per async and get of an empty task, one after the other, on all workers and on one (w1); wall time.
// async/plx/batch: the same for a thousand tasks made before the first is waited for.
#include <string>
#include <vector>

#include "report.hpp"
#include "rt/runtime.hpp"
#include "timing.hpp"

namespace {

constexpr int tasks = 500'000;
constexpr int per_batch = 1000;
constexpr int turns = 9;

void one_by_one() {
  for (int i = 0; i < tasks; ++i) plx::async([] {}).get();
}

void in_batches() {
  std::vector<plx::future<void>> batch(per_batch);
  for (int done = 0; done < tasks; done += per_batch) {
    for (auto& f : batch) f = plx::async([] {});
    for (auto& f : batch) f.get();
  }
}

double ns_per_task(plx::runtime& rt, void (*work)()) {
  return plx::bench::wall_time_of([&] { rt.run(work); }) / tasks * 1e9;
}

void measure(plx::bench::report& report, unsigned workers, const std::string& suffix) {
  plx::runtime rt({.workers = workers});
  std::vector<double> alone, batch;
  for (int turn = 0; turn < turns; ++turn) {
    alone.push_back(ns_per_task(rt, one_by_one));
    batch.push_back(ns_per_task(rt, in_batches));
  }
  report.add("async/plx" + suffix, plx::bench::median(alone), "ns", plx::bench::lower);
  report.add("async/plx/batch" + suffix, plx::bench::median(batch), "ns", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::report report(argc, argv);
  measure(report, 0, "");
  measure(report, 1, "/w1");
  return report.finish();
}
