#include "library/contest.hpp"
#include "uts/tree.hpp"

namespace {

long count(const uts::shape& s, const uts::node& n) {
  long sum = 1;
  const int children = uts::count_children(s, n);
  for (int i = 0; i < children; ++i) sum += count(s, uts::child(n, i));
  return sum;
}

const plx::bench::entry<uts::uts_run> me("serial", [](const uts::shape& s) { return count(s, uts::root(s)); });

}  // namespace
