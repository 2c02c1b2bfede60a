#include "rt/algorithm/scan.hpp"

#include "library/contest.hpp"
#include "library/plx.hpp"
#include "scan/scan.hpp"

namespace {

const plx::bench::entry<scan_run> me("plx", [](const std::vector<long>& v, std::vector<long>& out, int repetitions) {
  plx::bench::plx_runtime().run([&] {
    for (int i = 0; i < repetitions; ++i) plx::inclusive_scan(plx::par, v.begin(), v.end(), out.begin());
  });
});

}  // namespace
