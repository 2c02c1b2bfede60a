#include "library/contest.hpp"
#include "nqueens/board.hpp"

namespace {

long count(board b, int n) {
  if (b.full(n)) return 1;
  long sum = 0;
  for_each_way(b, n, [&](board next, int) { sum += count(next, n); });
  return sum;
}

const plx::bench::entry<nqueens_run> me("serial", [](int n) { return count({}, n); });

}  // namespace
