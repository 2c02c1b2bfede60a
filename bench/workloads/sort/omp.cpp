// The parallel mode of GCC's standard library: a multiway merge sort on OpenMP's threads.
#include <parallel/algorithm>

#include "library/contest.hpp"
#include "sort/sort.hpp"

namespace {

const plx::bench::entry<sort_run> me("omp", [](std::vector<std::vector<double>>& arrays) {
  for (auto& v : arrays) __gnu_parallel::sort(v.begin(), v.end());
});

}  // namespace
