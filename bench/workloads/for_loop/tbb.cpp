#include <tbb/parallel_for.h>

#include "for_loop/for_loop.hpp"
#include "library/contest.hpp"
#include "library/tbb.hpp"

namespace {

const plx::bench::entry<loop_run> me("tbb", [](loop_work w) {
  plx::bench::tbb_arena().execute([w] {
    for (int r = 0; r < w.repetitions; ++r) tbb::parallel_for(0, w.n, [v = w.values](int i) { v[i] = iterate(v[i]); });
  });
});

}  // namespace
