#include "library/tbb.hpp"
#include <tbb/task_group.h>
#include <numeric>
#include <vector>
#include "library/contest.hpp"
#include "uts/tree.hpp"

namespace {

long count(const uts::shape& s, const uts::node& n) {
  const int children = uts::count_children(s, n);
  if (children == 0) return 1;
  std::vector<long> counts(static_cast<std::size_t>(children));
  tbb::task_group group;
  for (int i = 0; i < children; ++i)
    group.run([&s, &n, i, result = &counts[static_cast<std::size_t>(i)]] { *result = count(s, uts::child(n, i)); });
  group.wait();
  return std::accumulate(counts.begin(), counts.end(), 1L);
}

const plx::bench::entry<uts::uts_run> me("tbb", [](const uts::shape& s) {
  return plx::bench::tbb_arena().execute([&s] { return count(s, uts::root(s)); });
});

}  // namespace
