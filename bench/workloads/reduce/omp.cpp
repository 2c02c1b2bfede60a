#include "library/contest.hpp"
#include "reduce/reduce.hpp"

namespace {

double sum(const std::vector<double>& v) {
  double result = 0;
  const double* const x = v.data();
  const std::size_t n = v.size();
#pragma omp parallel for simd reduction(+ : result)
  for (std::size_t i = 0; i < n; ++i) result += x[i];
  return result;
}

const plx::bench::entry<reduce_run> me("omp", [](const std::vector<double>& v, int repetitions) {
  double sums = 0;
  for (int i = 0; i < repetitions; ++i) sums += sum(v);
  return sums;
});

}  // namespace
