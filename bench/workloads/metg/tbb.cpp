// oneTBB: tasks of one task_group with reference counts, as its documentation advises for graphs known by their inputs.
#include "library/tbb.hpp"

#include <tbb/task_group.h>

#include "library/contest.hpp"
#include "metg/counted.hpp"

namespace {

struct execution {
  metg::run& r;
  metg::counters counters;
  tbb::task_group group;

  void spawn(metg::step t, metg::point p) {
    group.run(
        [this, t, p] { metg::execute_from(r, counters, t, p, [this](metg::step u, metg::point q) { spawn(u, q); }); });
  }
};

const plx::bench::entry<void(metg::run&)> me("tbb", [](metg::run& r) {
  plx::bench::tbb_arena().execute([&r] {
    execution e{r, metg::counters(r), {}};
    metg::spawn_roots(r, [&e](metg::step t, metg::point p) { e.spawn(t, p); });
    e.group.wait();
  });
});

}  // namespace
