#include <numeric>

#include "library/contest.hpp"
#include "scan/scan.hpp"

namespace {

const plx::bench::entry<scan_run> me("serial", [](const std::vector<long>& v, std::vector<long>& out, int repetitions) {
  for (int i = 0; i < repetitions; ++i) std::inclusive_scan(v.begin(), v.end(), out.begin());
});

}  // namespace
