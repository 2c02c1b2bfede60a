#include "library/plx.hpp"
#include <numeric>
#include <vector>
#include "library/contest.hpp"
#include "rt/task_group.hpp"
#include "uts/tree.hpp"

namespace {

long count(const uts::shape& s, const uts::node& n) {
  const int children = uts::count_children(s, n);
  if (children == 0) return 1;
  std::vector<long> counts(static_cast<std::size_t>(children));
  plx::task_group group;
  for (int i = 0; i < children; ++i)
    group.run([&s, &n, i, result = &counts[static_cast<std::size_t>(i)]] { *result = count(s, uts::child(n, i)); });
  group.wait();
  return std::accumulate(counts.begin(), counts.end(), 1L);
}

const plx::bench::entry<uts::uts_run> me("plx", [](const uts::shape& s) {
  return plx::bench::plx_runtime().run([&s] { return count(s, uts::root(s)); });
});

// T3 is 1572 levels deep. A parent that runs its children inline calls them on its own stack, as every library here
// does: give it the 8 MiB of a thread.
const auto stack_bytes = plx::bench::plx_options().stack_bytes = std::size_t{8} << 20;

}  // namespace
