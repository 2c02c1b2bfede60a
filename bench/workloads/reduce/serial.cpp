#include <numeric>

#include "library/contest.hpp"
#include "reduce/reduce.hpp"

namespace {

const plx::bench::entry<reduce_run> me("serial", [](const std::vector<double>& v, int repetitions) {
  double sums = 0;
  for (int i = 0; i < repetitions; ++i) sums += std::reduce(v.begin(), v.end(), 0.0);
  return sums;
});

}  // namespace
