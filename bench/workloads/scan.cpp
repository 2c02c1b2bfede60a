// scan/LIBRARY: us of wall time for the prefix sums of four million integers; /10k: ten thousand.
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/algorithm/scan.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>
#endif

namespace {

using plx::bench::entry;

/// The prefix sums of the values, computed `repetitions` times from within a task of the library. Requires: as many
/// sums as values.
using scan_run = void(const std::vector<long>& values, std::vector<long>& sums, int repetitions);

const entry<scan_run> with_plx("plx", [](const std::vector<long>& v, std::vector<long>& out, int repetitions) {
  plx::bench::plx_runtime().run([&] {
    for (int i = 0; i < repetitions; ++i) plx::inclusive_scan(plx::par, v.begin(), v.end(), out.begin());
  });
});

#ifdef PLX_HAVE_TBB
namespace with_tbb {

using range = tbb::blocked_range<std::size_t>;

void scan(const std::vector<long>& v, std::vector<long>& out) {
  tbb::parallel_scan(
      range(0, v.size()), 0L,
      [&v, &out](const range& r, long sum, bool is_final) {
        for (std::size_t i = r.begin(); i != r.end(); ++i) {
          sum += v[i];
          if (is_final) out[i] = sum;
        }
        return sum;
      },
      std::plus<>());
}

const entry<scan_run> me("tbb", [](const std::vector<long>& v, std::vector<long>& out, int repetitions) {
  plx::bench::tbb_arena().execute([&] {
    for (int i = 0; i < repetitions; ++i) scan(v, out);
  });
});

}  // namespace with_tbb
#endif

#ifdef _OPENMP
// ---- OpenMP
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns of a variable that its own scan makes
#endif
namespace with_openmp {

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

const entry<scan_run> me("omp", [](const std::vector<long>& v, std::vector<long>& out, int repetitions) {
  for (int i = 0; i < repetitions; ++i) scan(v, out);
});

}  // namespace with_openmp
#endif

const entry<scan_run> serial("serial", [](const std::vector<long>& v, std::vector<long>& out, int repetitions) {
  for (int i = 0; i < repetitions; ++i) std::inclusive_scan(v.begin(), v.end(), out.begin());
});

// ---- measurement
void compete(plx::bench::contest& c, std::size_t n, int repetitions, const std::string& suffix) {
  std::vector<long> values(n), expected(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = static_cast<long>(i % 17);
    expected[i] = values[i] + (i == 0 ? 0 : expected[i - 1]);
  }
  const auto medians = plx::bench::in_turns<scan_run>(c, c.turns(7), [&](const entry<scan_run>& e) {
    std::vector<long> sums(n);
    e.run(values, sums, 2);
    const auto time = plx::bench::timed([&] { e.run(values, sums, repetitions); });
    plx::bench::expect_same(e.label, sums, expected);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("scan/") + who->label + suffix,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / repetitions * 1e6, "us", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, 4'000'000, c.quick ? 3 : 15, "");
  compete(c, 10'000, c.quick ? 200 : 1000, "/10k");
  return c.finish();
}
