#include "rt/algorithm/reduce.hpp"

#include "library/contest.hpp"
#include "library/plx.hpp"
#include "reduce/reduce.hpp"

namespace {

const plx::bench::entry<reduce_run> me("plx", [](const std::vector<double>& v) {
  return plx::bench::plx_runtime().run([&v] { return plx::reduce(plx::par, v, 0.0); });
});

}  // namespace
