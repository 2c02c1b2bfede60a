#include "library/contest.hpp"
#include "reduce/reduce.hpp"

namespace {

const plx::bench::entry<reduce_run> me("omp", [](const std::vector<double>& v) {
  double sum = 0;
  const double* const x = v.data();
  const std::size_t n = v.size();
#pragma omp parallel for simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += x[i];
  return sum;
});

}  // namespace
