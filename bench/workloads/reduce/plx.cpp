#include "rt/algorithm/reduce.hpp"

#include "library/contest.hpp"
#include "library/plx.hpp"
#include "reduce/reduce.hpp"

namespace {

const plx::bench::entry<reduce_run> me("plx", [](const std::vector<double>& v, int repetitions) {
  return plx::bench::plx_runtime().run([&] {
    double sums = 0;
    for (int i = 0; i < repetitions; ++i) sums += plx::reduce(plx::par, v, 0.0);
    return sums;
  });
});

}  // namespace
