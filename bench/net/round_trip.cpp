// An empty call and its answer, one at a time; and the same with messages of UCX alone, alternating.
#include <cstdio>
#include <vector>

#include "base/clock.hpp"
#include "beside_ucx.hpp"
#include "net/action.hpp"
#include "net/job.hpp"
#include "parts.hpp"

namespace plx::bench {
namespace {

void nothing() {}

constexpr int trips = 200;

double call_us() {
  for (int i = 0; i < 10; ++i) async<&nothing>(1).get();
  const double begin = monotonic_seconds();
  for (int i = 0; i < trips; ++i) async<&nothing>(1).get();
  return (monotonic_seconds() - begin) / trips * 1e6;
}

}  // namespace

void round_trip(inside& in) {
  std::vector<double> calls, messages;
  in.j.run_root([&] {
    beside_ucx ucx;
    for (int i = 0; in.more(i, 500); ++i) {
      calls.push_back(call_us());
      if (ucx.here()) messages.push_back(ucx.round_trip_us(trips));
    }
  });
  if (in.j.here() != 0) return;
  in.rows.add("net/rtt" + in.suffix, median(calls), "us", lower);
  if (!messages.empty()) in.rows.add("net/rtt_ucx" + in.suffix, median(messages), "us", lower);
}

}  // namespace plx::bench
