#include "library/tbb.hpp"
#include <tbb/task_group.h>
#include <numeric>
#include "library/contest.hpp"
#include "nqueens/board.hpp"

namespace {

long count(board b, int n) {
  if (b.full(n)) return 1;
  long counts[max_queens] = {};
  tbb::task_group children;
  for_each_way(b, n, [&](board next, int i) { children.run([&counts, next, n, i] { counts[i] = count(next, n); }); });
  children.wait();
  return std::accumulate(counts, counts + n, 0L);
}

const plx::bench::entry<nqueens_run> me("tbb", [](int n) {
  return plx::bench::tbb_arena().execute([n] { return count({}, n); });
});

}  // namespace
