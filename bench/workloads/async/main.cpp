// async/LIBRARY: ns of wall time per empty task that is created and waited for, one by one; /batch: a thousand are
// created before the first is waited for. /w1: the same on one worker.
#include <string>

#include "async/async.hpp"
#include "library/contest.hpp"

namespace {

using plx::bench::entry;

int tasks_for(const entry<async_run>& e, bool quick) {
  const int n = e.is("std") ? 2'000 : e.is("omp") ? 100'000 : e.is("tbb") ? 200'000 : 500'000;
  return quick ? n / 10 / 1000 * 1000 + 1000 : n;
}

void compete(plx::bench::contest& c, unsigned workers, int per_batch, const std::string& suffix) {
  const auto medians = plx::bench::in_turns<async_run>(c, c.turns(7), workers, [&](const entry<async_run>& e) {
    const async_work work{tasks_for(e, c.quick), per_batch};
    e.run({1000, per_batch});
    int ran = 0;
    const auto time = plx::bench::timed([&] { ran = e.run(work); });
    plx::bench::expect_same(e.label, ran, work.tasks);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("async/") + who->label + suffix, time.wall_s / tasks_for(*who, c.quick) * 1e9, "ns",
                  plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, c.threads, 1, "");
  compete(c, c.threads, 1000, "/batch");
  if (c.threads > 1) {
    compete(c, 1, 1, "/w1");
    compete(c, 1, 1000, "/batch/w1");
  }
  return c.finish();
}
