#include <numeric>

#include "library/contest.hpp"
#include "nqueens/board.hpp"

namespace {

long count(board b, int n) {
  if (b.full(n)) return 1;
  long counts[max_queens] = {};
  for_each_way(b, n, [&](board next, int i) {
    long* const result = &counts[i];
#pragma omp task firstprivate(result, next, n)
    *result = count(next, n);
  });
#pragma omp taskwait
  return std::accumulate(counts, counts + n, 0L);
}

const plx::bench::entry<nqueens_run> me("omp", [](int n) {
  long result = 0;
#pragma omp parallel
#pragma omp single
  result = count({}, n);
  return result;
});

}  // namespace
