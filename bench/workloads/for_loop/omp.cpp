#include "for_loop/for_loop.hpp"
#include "library/contest.hpp"

namespace {

const plx::bench::entry<loop_run> me("omp", [](loop_work w) {
  for (int r = 0; r < w.repetitions; ++r) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < w.n; ++i) w.values[i] = iterate(w.values[i]);
  }
});

}  // namespace
