#include <tbb/parallel_sort.h>

#include "library/contest.hpp"
#include "library/tbb.hpp"
#include "sort/sort.hpp"

namespace {

const plx::bench::entry<sort_run> me("tbb", [](std::vector<std::vector<double>>& arrays) {
  plx::bench::tbb_arena().execute([&] {
    for (auto& v : arrays) tbb::parallel_sort(v.begin(), v.end());
  });
});

}  // namespace
