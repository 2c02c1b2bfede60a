#include <numeric>
#include <vector>

#include "library/contest.hpp"
#include "uts/tree.hpp"

namespace {

long count(const uts::shape& s, const uts::node& n) {
  const int children = uts::count_children(s, n);
  if (children == 0) return 1;
  std::vector<long> counts(static_cast<std::size_t>(children));
  for (int i = 0; i < children; ++i) {
    long* const result = &counts[static_cast<std::size_t>(i)];
#pragma omp task shared(s, n) firstprivate(result, i)
    *result = count(s, uts::child(n, i));
  }
#pragma omp taskwait
  return std::accumulate(counts.begin(), counts.end(), 1L);
}

const plx::bench::entry<uts::uts_run> me("omp", [](const uts::shape& s) {
  long result = 0;
#pragma omp parallel
#pragma omp single
  result = count(s, uts::root(s));
  return result;
});

}  // namespace
