#include "rt/for_loop.hpp"

#include "for_loop/for_loop.hpp"
#include "library/contest.hpp"
#include "library/plx.hpp"

namespace {

const plx::bench::entry<loop_run> me("plx", [](loop_work w) {
  plx::bench::plx_runtime().run([w] {
    for (int r = 0; r < w.repetitions; ++r) plx::for_loop(0, w.n, [v = w.values](int i) { v[i] = iterate(v[i]); });
  });
});

}  // namespace
