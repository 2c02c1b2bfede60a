// reduce/LIBRARY: us of wall time to add four million doubles; /10k: ten thousand.
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/algorithm/reduce.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#endif

namespace {

using plx::bench::entry;

/// The sum of the values, computed `repetitions` times from within a task of the library; returns the sum of the sums.
using reduce_run = double(const std::vector<double>&, int repetitions);

const entry<reduce_run> with_plx("plx", [](const std::vector<double>& v, int repetitions) {
  return plx::bench::plx_runtime().run([&] {
    double sums = 0;
    for (int i = 0; i < repetitions; ++i) sums += plx::reduce(plx::par, v, 0.0);
    return sums;
  });
});

#ifdef PLX_HAVE_TBB
namespace with_tbb {

using range = tbb::blocked_range<const double*>;

double sum(const std::vector<double>& v) {
  return tbb::parallel_reduce(
      range(v.data(), v.data() + v.size()), 0.0,
      [](const range& r, double before) { return std::reduce(r.begin(), r.end(), before); }, std::plus<>());
}

const entry<reduce_run> me("tbb", [](const std::vector<double>& v, int repetitions) {
  return plx::bench::tbb_arena().execute([&] {
    double sums = 0;
    for (int i = 0; i < repetitions; ++i) sums += sum(v);
    return sums;
  });
});

}  // namespace with_tbb
#endif

#ifdef _OPENMP
namespace with_openmp {

double sum(const std::vector<double>& v) {
  double result = 0;
  const double* const x = v.data();
  const std::size_t n = v.size();
#pragma omp parallel for simd reduction(+ : result)
  for (std::size_t i = 0; i < n; ++i) result += x[i];
  return result;
}

const entry<reduce_run> me("omp", [](const std::vector<double>& v, int repetitions) {
  double sums = 0;
  for (int i = 0; i < repetitions; ++i) sums += sum(v);
  return sums;
});

}  // namespace with_openmp
#endif

const entry<reduce_run> serial("serial", [](const std::vector<double>& v, int repetitions) {
  double sums = 0;
  for (int i = 0; i < repetitions; ++i) sums += std::reduce(v.begin(), v.end(), 0.0);
  return sums;
});

// ---- measurement
void compete(plx::bench::contest& c, std::size_t n, int repetitions, const std::string& suffix) {
  std::vector<double> values(n);
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) expected += values[i] = static_cast<double>(i % 17);  // exact in any order
  const auto medians = plx::bench::in_turns<reduce_run>(c, c.turns(7), [&](const entry<reduce_run>& e) {
    e.run(values, 2);
    double sum = 0;
    const auto time = plx::bench::timed([&] { sum = e.run(values, repetitions); });
    plx::bench::expect_same(e.label, sum, repetitions * expected);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("reduce/") + who->label + suffix,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / repetitions * 1e6, "us", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, 4'000'000, c.quick ? 3 : 20, "");
  compete(c, 10'000, c.quick ? 200 : 1000, "/10k");
  return c.finish();
}
