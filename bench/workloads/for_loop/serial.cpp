#include "for_loop/for_loop.hpp"
#include "library/contest.hpp"

namespace {

const plx::bench::entry<loop_run> me("serial", [](loop_work w) {
  double* const v = w.values;
  for (int r = 0; r < w.repetitions; ++r)
    for (int i = 0; i < w.n; ++i) v[i] = iterate(v[i]);
});

}  // namespace
