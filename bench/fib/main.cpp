// fib/LIBRARY: ns of core time per call on all cores; fib/LIBRARY/w1: on one worker.
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "fib/fib.hpp"
#include "report.hpp"
#include "rt/detail/topology.hpp"
#include "timing.hpp"

namespace {

struct contestant {
  const fib::library& library;
  int n;  // smaller for a slower library: each turn takes some tenths of a second
};

const contestant contestants[] = {
    {fib::plx_library, 31},
#if defined(PLX_BENCH_TBB)
    {fib::tbb_library, 28},
#endif
#if defined(PLX_BENCH_OMP)
    {fib::omp_library, 22},
#endif
};

constexpr int turns = 7;

double measure(const contestant& c, unsigned workers, long expected) {
  long result = 0;
  c.library.start(workers);
  c.library.compute(10);
  const double seconds = plx::bench::core_time_of([&] { result = c.library.compute(c.n); });
  c.library.stop();
  if (result != expected) {
    std::fprintf(stderr, "fib/%s gave %ld for n = %d, expected %ld\n", c.library.name, result, c.n, expected);
    std::exit(1);
  }
  return seconds / fib::calls(c.n) * 1e9;
}

long fibonacci(int n) {
  long a = 0, b = 1;
  for (; n > 0; --n) b += std::exchange(a, b);
  return a;
}

void compete(plx::bench::report& report, unsigned workers, const std::string& suffix) {
  std::vector<std::vector<double>> ns(std::size(contestants));
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t i = 0; i < std::size(contestants); ++i)
      ns[i].push_back(measure(contestants[i], workers, fibonacci(contestants[i].n)));
  for (std::size_t i = 0; i < std::size(contestants); ++i)
    report.add(std::string("fib/") + contestants[i].library.name + suffix, plx::bench::median(ns[i]), "ns",
               plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::report report(argc, argv);
  compete(report, plx::detail::default_worker_count(plx::detail::allowed_cores().size()), "");
  compete(report, 1, "/w1");
  return report.finish();
}
