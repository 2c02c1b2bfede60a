// Recursive Fibonacci numbers, one task per call that is not a leaf: spawning and joining only.
// fib/LIBRARY: ns of core time per call on all workers; /w1 on one worker; /wall: wall time on all workers.
#include <string>
#include <utility>

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
long recurse(int n) {
  if (n < 2) return n;
  long a = 0;
  Group children;
  children.run([&a, n] { a = recurse<Group>(n - 1); });
  const long b = recurse<Group>(n - 2);
  children.wait();
  return a + b;
}

const entry<long(int)> with_plx("plx", [](int n) {
  return plx::bench::plx_runtime().run([n] { return recurse<plx::task_group>(n); });
});
#ifdef PLX_HAVE_TBB
const entry<long(int)> with_tbb("tbb", [](int n) {
  return plx::bench::tbb_arena().execute([n] { return recurse<tbb::task_group>(n); });
});
#endif

#ifdef _OPENMP
namespace with_openmp {

long recurse(int n) {
  if (n < 2) return n;
  long a = 0;
#pragma omp task shared(a)
  a = recurse(n - 1);
  const long b = recurse(n - 2);
#pragma omp taskwait
  return a + b;
}

const entry<long(int)> me("omp", [](int n) { return plx::bench::in_omp([n] { return recurse(n); }); });

}  // namespace with_openmp
#endif

namespace serial {

long recurse(int n) { return n < 2 ? n : recurse(n - 1) + recurse(n - 2); }

const entry<long(int)> me("serial", recurse);

}  // namespace serial

// ---- measurement
using fib = long(int);

/// The number of calls of fib(n), leaves included: the divisor of the times.
double calls(int n) {
  double a = 1, b = 1;
  for (; n > 1; --n) a = std::exchange(b, a + b + 1);
  return b;
}

long fibonacci(int n) {
  long a = 0, b = 1;
  for (; n > 0; --n) b += std::exchange(a, b);
  return a;
}

/// Smaller for a slower library: each turn takes a few tenths of a second.
int size_for(const entry<fib>& e, bool quick) {
  const int n = e.is("omp") ? 22 : e.is("tbb") ? 29 : e.is("plx") ? 32 : 36;
  return quick ? n - 5 : n;
}

void compete(plx::bench::contest& c, unsigned workers, const std::string& suffix) {
  const auto medians = plx::bench::in_turns<fib>(c, c.turns(7), workers, [&](const entry<fib>& e) {
    const int n = size_for(e, c.quick);
    e.run(10);
    long result = 0;
    const auto time = plx::bench::timed([&] { result = e.run(n); });
    plx::bench::expect_same(e.label, result, fibonacci(n));
    return time;
  });
  for (const auto& [who, time] : medians) {
    if (who->is("serial") && workers > 1) continue;
    const double each = 1e9 / calls(size_for(*who, c.quick));
    c.numbers.add(std::string("fib/") + who->label + suffix, time.core_s * each, "ns", plx::bench::lower);
    if (suffix.empty())
      c.numbers.add(std::string("fib/") + who->label + "/wall", time.calm_s(workers) * each, "ns", plx::bench::lower);
  }
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, c.threads, "");
  if (c.threads > 1) compete(c, 1, "/w1");
  return c.finish();
}
