// sort/LIBRARY: ms of wall time to sort two million random doubles; /10k: us for ten thousand.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/algorithm/sort.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/parallel_sort.h>
#endif
#ifdef _OPENMP
#include <parallel/algorithm>
#endif

namespace {

using plx::bench::entry;

/// Sorts each of the arrays, one at a time, from within a task of the library.
using sort_run = void(std::vector<std::vector<double>>& arrays);

const entry<sort_run> with_plx("plx", [](std::vector<std::vector<double>>& arrays) {
  plx::bench::plx_runtime().run([&] {
    for (auto& v : arrays) plx::sort(plx::par, v);
  });
});

#ifdef PLX_HAVE_TBB
const entry<sort_run> with_tbb("tbb", [](std::vector<std::vector<double>>& arrays) {
  plx::bench::tbb_arena().execute([&] {
    for (auto& v : arrays) tbb::parallel_sort(v.begin(), v.end());
  });
});
#endif

#ifdef _OPENMP
// ---- OpenMP
// The parallel mode of GCC's standard library: a multiway merge sort on OpenMP's threads.
const entry<sort_run> with_openmp("omp", [](std::vector<std::vector<double>>& arrays) {
  for (auto& v : arrays) __gnu_parallel::sort(v.begin(), v.end());
});
#endif

const entry<sort_run> serial("serial", [](std::vector<std::vector<double>>& arrays) {
  for (auto& v : arrays) std::sort(v.begin(), v.end());
});

// ---- measurement
void compete(plx::bench::contest& c, std::size_t n, int repetitions, const std::string& suffix, double unit_s,
             const char* unit) {
  std::vector<double> values(n);
  std::mt19937_64 random(1);
  for (double& v : values) v = std::uniform_real_distribution()(random);
  std::vector<double> expected(values);
  std::sort(expected.begin(), expected.end());
  const auto medians = plx::bench::in_turns<sort_run>(c, c.turns(7), [&](const entry<sort_run>& e) {
    std::vector warm(2, std::vector<double>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n / 10)));
    e.run(warm);
    std::vector copies(static_cast<std::size_t>(repetitions), values);
    const auto time = plx::bench::timed([&] { e.run(copies); });
    for (const auto& copy : copies) plx::bench::expect_same(e.label, copy, expected);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("sort/") + who->label + suffix,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / repetitions / unit_s, unit, plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, c.quick ? 200'000 : 2'000'000, 1, "", 1e-3, "ms");
  compete(c, 10'000, c.quick ? 10 : 50, "/10k", 1e-6, "us");
  return c.finish();
}
