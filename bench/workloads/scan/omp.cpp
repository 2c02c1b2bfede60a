#include "library/contest.hpp"
#include "scan/scan.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns of a variable that its own scan makes
#endif

namespace {

void scan(const std::vector<long>& v, std::vector<long>& out) {
  const long* const from = v.data();
  long* const to = out.data();
  const std::size_t n = v.size();
  long sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
  for (std::size_t i = 0; i < n; ++i) {
    sum += from[i];
#pragma omp scan inclusive(sum)
    to[i] = sum;
  }
}

const plx::bench::entry<scan_run> me("omp", [](const std::vector<long>& v, std::vector<long>& out, int repetitions) {
  for (int i = 0; i < repetitions; ++i) scan(v, out);
});

}  // namespace
