#include "rt/algorithm/scan.hpp"

#include "library/contest.hpp"
#include "library/plx.hpp"
#include "scan/scan.hpp"

namespace {

const plx::bench::entry<scan_run> me("plx", [](const std::vector<long>& v, std::vector<long>& out) {
  plx::bench::plx_runtime().run([&] { plx::inclusive_scan(plx::par, v.begin(), v.end(), out.begin()); });
});

}  // namespace
