// plx: posted tasks with counters of inputs, and a latch that counts the ends of the graph.
#include "library/plx.hpp"

#include "library/contest.hpp"
#include "metg/counted.hpp"
#include "rt/latch.hpp"
#include "rt/task_group.hpp"

namespace {

std::ptrdiff_t count_ends(const metg::run& r) {
  std::ptrdiff_t n = 0;
  for (metg::step t = 0; t < r.steps(); ++t)
    for (metg::point p = 0; p < r.shape().active(t); ++p) n += metg::is_end(r, t, p);
  return n;
}

struct execution {
  metg::run& r;
  metg::counters counters;
  plx::latch ends;

  void execute(metg::step t, metg::point p) {
    const auto spawn = [this](metg::step u, metg::point q) { plx::post([this, u, q] { execute(u, q); }); };
    if (metg::execute_from(r, counters, t, p, spawn)) ends.count_down();
  }
};

const plx::bench::entry<void(metg::run&)> me("plx", [](metg::run& r) {
  plx::bench::plx_runtime().run([&r] {
    execution e{r, metg::counters(r), plx::latch(count_ends(r))};
    plx::task_group roots;
    metg::spawn_roots(r, [&](metg::step t, metg::point p) { roots.run([&e, t, p] { e.execute(t, p); }); });
    roots.wait();
    e.ends.wait();
  });
});

}  // namespace
