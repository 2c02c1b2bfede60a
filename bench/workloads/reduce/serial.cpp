#include <numeric>

#include "library/contest.hpp"
#include "reduce/reduce.hpp"

namespace {

const plx::bench::entry<reduce_run> me("serial", [](const std::vector<double>& v) {
  return std::reduce(v.begin(), v.end(), 0.0);
});

}  // namespace
