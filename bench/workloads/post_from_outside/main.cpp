// An external thread submits tasks (not possible with OpenMP). post_from_outside/LIBRARY: ns of wall time per task,
// from the first post until all have run.
#include <string>

#include "library/contest.hpp"

namespace {

using plx::bench::entry;

int tasks_for(const entry<long(int)>& e, bool quick) {
  const int n = e.is("std") ? 2'000 : 200'000;
  return quick ? n / 10 : n;
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  const auto medians = plx::bench::in_turns<long(int)>(c, c.turns(9), [&](const entry<long(int)>& e) {
    const int tasks = tasks_for(e, c.quick);
    e.run(100);
    long ran = 0;
    const auto time = plx::bench::timed([&] { ran = e.run(tasks); });
    plx::bench::expect_same(e.label, ran, static_cast<long>(tasks));
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("post_from_outside/") + who->label, time.wall_s / tasks_for(*who, c.quick) * 1e9, "ns",
                  plx::bench::lower);
  return c.finish();
}
