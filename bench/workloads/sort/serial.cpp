#include <algorithm>

#include "library/contest.hpp"
#include "sort/sort.hpp"

namespace {

const plx::bench::entry<sort_run> me("serial", [](std::vector<std::vector<double>>& arrays) {
  for (auto& v : arrays) std::sort(v.begin(), v.end());
});

}  // namespace
