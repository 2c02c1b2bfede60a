#include "library/contest.hpp"

namespace {

long recurse(int n) {
  if (n < 2) return n;
  long a = 0;
#pragma omp task shared(a)
  a = recurse(n - 1);
  const long b = recurse(n - 2);
#pragma omp taskwait
  return a + b;
}

const plx::bench::entry<long(int)> me("omp", [](int n) {
  long result = 0;
#pragma omp parallel
#pragma omp single
  result = recurse(n);
  return result;
});

}  // namespace
