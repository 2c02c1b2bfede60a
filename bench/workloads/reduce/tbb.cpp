#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <functional>
#include <numeric>

#include "library/contest.hpp"
#include "library/tbb.hpp"
#include "reduce/reduce.hpp"

namespace {

using range = tbb::blocked_range<const double*>;

double sum(const std::vector<double>& v) {
  return tbb::parallel_reduce(
      range(v.data(), v.data() + v.size()), 0.0,
      [](const range& r, double before) { return std::reduce(r.begin(), r.end(), before); }, std::plus<>());
}

const plx::bench::entry<reduce_run> me("tbb", [](const std::vector<double>& v, int repetitions) {
  return plx::bench::tbb_arena().execute([&] {
    double sums = 0;
    for (int i = 0; i < repetitions; ++i) sums += sum(v);
    return sums;
  });
});

}  // namespace
