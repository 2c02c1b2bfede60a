#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>

#include <functional>

#include "library/contest.hpp"
#include "library/tbb.hpp"
#include "scan/scan.hpp"

namespace {

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

const plx::bench::entry<scan_run> me("tbb", [](const std::vector<long>& v, std::vector<long>& out, int repetitions) {
  plx::bench::tbb_arena().execute([&] {
    for (int i = 0; i < repetitions; ++i) scan(v, out);
  });
});

}  // namespace
