#include "rt/algorithm/sort.hpp"

#include "library/contest.hpp"
#include "library/plx.hpp"
#include "sort/sort.hpp"

namespace {

const plx::bench::entry<sort_run> me("plx", [](std::vector<std::vector<double>>& arrays) {
  plx::bench::plx_runtime().run([&] {
    for (auto& v : arrays) plx::sort(plx::par, v);
  });
});

}  // namespace
