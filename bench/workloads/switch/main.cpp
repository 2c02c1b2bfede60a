// Two tasks that alternately wait for each other (std: two threads; not possible with OpenMP tasks). switch/LIBRARY: ns
// of wall time from one to the other, on all workers; /w1 on one worker.
#include <string>

#include "library/contest.hpp"

namespace {

using plx::bench::entry;

int rounds_for(const entry<long(int)>& e, bool quick) {
  const int n = e.is("plx") ? 300'000 : e.is("tbb") ? 20'000 : 10'000;
  return quick ? n / 10 : n;
}

void compete(plx::bench::contest& c, unsigned workers, const std::string& suffix) {
  const auto medians = plx::bench::in_turns<long(int)>(c, c.turns(7), workers, [&](const entry<long(int)>& e) {
    const int rounds = rounds_for(e, c.quick);
    e.run(100);
    long switches = 0;
    const auto time = plx::bench::timed([&] { switches = e.run(rounds); });
    plx::bench::expect_same(e.label, switches, 2L * rounds);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("switch/") + who->label + suffix, time.wall_s / (2.0 * rounds_for(*who, c.quick)) * 1e9,
                  "ns", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, c.threads, "");
  if (c.threads > 1) compete(c, 1, "/w1");
  return c.finish();
}
