// A task has ten children, each of them ten, down to a million leaves, which return their index; each other task
// returns the sum. skynet/LIBRARY: ns of wall time per leaf.
#include <numeric>
#include <string>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/task_group.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/task_group.h>
#endif

namespace {

using plx::bench::entry;

// ---- plx and oneTBB
template <class Group>
long skynet(long first, long size) {
  if (size == 1) return first;
  long sums[10];
  Group children;
  for (long i = 0; i < 10; ++i)
    children.run([&sums, i, first, size] { sums[i] = skynet<Group>(first + i * (size / 10), size / 10); });
  children.wait();
  return std::accumulate(sums, sums + 10, 0L);
}

const entry<long(long)> with_plx("plx", [](long leaves) {
  return plx::bench::plx_runtime().run([leaves] { return skynet<plx::task_group>(0, leaves); });
});
#ifdef PLX_HAVE_TBB
const entry<long(long)> with_tbb("tbb", [](long leaves) {
  return plx::bench::tbb_arena().execute([leaves] { return skynet<tbb::task_group>(0, leaves); });
});
#endif

// ---- plx with futures: the straightforward version.
namespace with_plx_futures {

long skynet(long first, long size) {
  if (size == 1) return first;
  plx::future<long> children[10];
  for (long i = 0; i < 10; ++i) children[i] = plx::async(skynet, first + i * (size / 10), size / 10);
  long sum = 0;
  for (auto& c : children) sum += c.get();
  return sum;
}

const entry<long(long)> me("plx-async", [](long leaves) {
  return plx::bench::plx_runtime().run([leaves] { return skynet(0, leaves); });
});

}  // namespace with_plx_futures

#ifdef _OPENMP
namespace with_openmp {

long skynet(long first, long size) {
  if (size == 1) return first;
  long sums[10];
  for (long i = 0; i < 10; ++i) {
#pragma omp task shared(sums) firstprivate(i, first, size)
    sums[i] = skynet(first + i * (size / 10), size / 10);
  }
#pragma omp taskwait
  return std::accumulate(sums, sums + 10, 0L);
}

const entry<long(long)> me("omp",
                           [](long leaves) { return plx::bench::in_omp([leaves] { return skynet(0, leaves); }); });

}  // namespace with_openmp
#endif

namespace serial {

long skynet(long first, long size) {
  if (size == 1) return first;
  long sum = 0;
  for (long i = 0; i < 10; ++i) sum += skynet(first + i * (size / 10), size / 10);
  return sum;
}

const entry<long(long)> me("serial", [](long leaves) { return skynet(0, leaves); });

}  // namespace serial

// ---- measurement
long leaves_for(const entry<long(long)>& e, bool quick) {
  const long n = e.is("omp") ? 100'000 : 1'000'000;
  return quick ? n / 10 : n;
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  const auto medians = plx::bench::in_turns<long(long)>(c, c.turns(7), [&](const entry<long(long)>& e) {
    const long leaves = leaves_for(e, c.quick);
    e.run(1000);
    long sum = 0;
    const auto time = plx::bench::timed([&] { sum = e.run(leaves); });
    plx::bench::expect_same(e.label, sum, leaves * (leaves - 1) / 2);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("skynet/") + who->label,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / static_cast<double>(leaves_for(*who, c.quick)) * 1e9,
                  "ns", plx::bench::lower);
  return c.finish();
}
