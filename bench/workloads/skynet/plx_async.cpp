// plx with futures: the straightforward version.
#include "library/contest.hpp"
#include "library/plx.hpp"

namespace {

long skynet(long first, long size) {
  if (size == 1) return first;
  plx::future<long> children[10];
  for (long i = 0; i < 10; ++i) children[i] = plx::async(skynet, first + i * (size / 10), size / 10);
  long sum = 0;
  for (auto& c : children) sum += c.get();
  return sum;
}

const plx::bench::entry<long(long)> me("plx-async", [](long leaves) {
  return plx::bench::plx_runtime().run([leaves] { return skynet(0, leaves); });
});

}  // namespace
