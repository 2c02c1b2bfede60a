// for_loop/LIBRARY/T: efficiency in percent of a parallel loop over T of work (serial time over wall time times
// workers), for T from 1 us to 10 ms; the loops follow each other immediately, as the time steps of a simulation do.
#include <string>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/for_loop.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/parallel_for.h>
#endif

namespace {

using plx::bench::entry;

/// One iteration. Every library runs the same instructions; only the distribution of the iterations differs.
PLX_BENCH_OPAQUE double iterate(double x) {
  for (int k = 0; k < 8; ++k) x = x * 0.999 + 0.001;
  return x;
}

struct loop_work {
  double* values;
  int n;            // iterations of one loop
  int repetitions;  // of the loop, one after another
};

/// values[i] = iterate(values[i]) for each i, `repetitions` times, from within a task of the library.
using loop_run = void(loop_work);

const entry<loop_run> with_plx("plx", [](loop_work w) {
  plx::bench::plx_runtime().run([w] {
    for (int r = 0; r < w.repetitions; ++r) plx::for_loop(0, w.n, [v = w.values](int i) { v[i] = iterate(v[i]); });
  });
});

#ifdef PLX_HAVE_TBB
const entry<loop_run> with_tbb("tbb", [](loop_work w) {
  plx::bench::tbb_arena().execute([w] {
    for (int r = 0; r < w.repetitions; ++r) tbb::parallel_for(0, w.n, [v = w.values](int i) { v[i] = iterate(v[i]); });
  });
});
#endif

#ifdef _OPENMP
const entry<loop_run> with_openmp("omp", [](loop_work w) {
  for (int r = 0; r < w.repetitions; ++r) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < w.n; ++i) w.values[i] = iterate(w.values[i]);
  }
});
#endif

const entry<loop_run> serial("serial", [](loop_work w) {
  double* const v = w.values;
  for (int r = 0; r < w.repetitions; ++r)
    for (int i = 0; i < w.n; ++i) v[i] = iterate(v[i]);
});

// ---- measurement
struct size {
  const char* name;
  double work_s;
};
constexpr size sizes[] = {{"1us", 1e-6}, {"10us", 1e-5}, {"100us", 1e-4}, {"1ms", 1e-3}, {"10ms", 1e-2}};

/// Seconds per iteration on one thread; the minimum of several, so that it holds for an undisturbed processor.
double iteration_s() {
  std::vector<double> values(10'000, 0.5);
  double best = 1;
  for (int i = 0; i < 20; ++i) {
    const auto time = plx::bench::timed([&] {
      for (double& v : values) v = iterate(v);
    });
    best = std::min(best, time.wall_s / static_cast<double>(values.size()));
  }
  return best;
}

void compete(plx::bench::contest& c, size s) {
  const int n = std::max(1, static_cast<int>(s.work_s / iteration_s()));
  const int repetitions = std::max(3, static_cast<int>((c.quick ? 0.005 : 0.04) / s.work_s));
  std::vector<double> expected(static_cast<std::size_t>(n), 0.5);
  for (int r = 0; r < repetitions; ++r)
    for (double& v : expected) v = iterate(v);
  const auto medians = plx::bench::in_turns<loop_run>(c, c.turns(7), [&](const entry<loop_run>& e) {
    std::vector<double> values(static_cast<std::size_t>(n), 0.5), warm(values);
    e.run({warm.data(), n, std::min(repetitions, 100)});
    const auto time = plx::bench::timed([&] { e.run({values.data(), n, repetitions}); });
    plx::bench::expect_same(e.label, values, expected);
    return time;
  });
  const double alone_s = medians.back().time.offered_s(1);  // serial
  for (const auto& [who, time] : medians)
    if (!who->is("serial"))
      c.numbers.add(std::string("for_loop/") + who->label + "/" + s.name, 100 * alone_s / time.offered_s(c.threads),
                    "%", plx::bench::higher);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  for (const size& s : sizes) compete(c, s);
  return c.finish();
}
