#include "library/plx.hpp"
#include <numeric>
#include "library/contest.hpp"
#include "rt/task_group.hpp"

namespace {

long skynet(long first, long size) {
  if (size == 1) return first;
  long sums[10];
  plx::task_group children;
  for (long i = 0; i < 10; ++i)
    children.run([&sums, i, first, size] { sums[i] = skynet(first + i * (size / 10), size / 10); });
  children.wait();
  return std::accumulate(sums, sums + 10, 0L);
}

const plx::bench::entry<long(long)> me("plx", [](long leaves) {
  return plx::bench::plx_runtime().run([leaves] { return skynet(0, leaves); });
});

}  // namespace
