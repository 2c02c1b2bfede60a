#include "library/tbb.hpp"

#include <tbb/task_group.h>

#include "library/contest.hpp"

namespace {

long recurse(int n) {
  if (n < 2) return n;
  long a = 0;
  tbb::task_group children;
  children.run([&a, n] { a = recurse(n - 1); });
  const long b = recurse(n - 2);
  children.wait();
  return a + b;
}

const plx::bench::entry<long(int)> me("tbb", [](int n) {
  return plx::bench::tbb_arena().execute([n] { return recurse(n); });
});

}  // namespace
