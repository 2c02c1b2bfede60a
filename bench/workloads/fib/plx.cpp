#include "library/plx.hpp"

#include "library/contest.hpp"
#include "rt/task_group.hpp"

namespace {

long recurse(int n) {
  if (n < 2) return n;
  long a = 0;
  plx::task_group children;
  children.run([&a, n] { a = recurse(n - 1); });
  const long b = recurse(n - 2);
  children.wait();
  return a + b;
}

const plx::bench::entry<long(int)> me("plx",
                                      [](int n) { return plx::bench::plx_runtime().run([n] { return recurse(n); }); });

}  // namespace
