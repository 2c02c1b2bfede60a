#include "rt/algorithm/sort.hpp"

#include "library/contest.hpp"
#include "library/plx.hpp"
#include "sort/sort.hpp"

namespace {

const plx::bench::entry<sort_run> me("plx", [](std::vector<double>& v) {
  plx::bench::plx_runtime().run([&v] { plx::sort(plx::par, v); });
});

}  // namespace
