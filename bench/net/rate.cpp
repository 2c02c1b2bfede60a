// Inside of a job of two: calls there and back, one at a time and many.
#include <complex>
#include <cstdio>
#include <vector>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/coalescing.hpp"
#include "net/collectives.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "net/node.hpp"
#include "parts.hpp"

namespace plx::bench {
namespace {

using number = std::complex<double>;
number conjugate(number z) { return std::conj(z); }
void nothing() {}

/// Both localities call each other at the same time; calls a second and direction, of this one.
double rate(int calls) {
  std::vector<future<number>> results;
  results.reserve(calls);
  const locality_id other = 1 - find_here();
  const double begin = monotonic_seconds();
  for (int i = 0; i < calls; ++i) results.push_back(async<&conjugate>(other, number(i, 1)));
  for (auto& r : results) r.wait();
  return calls / (monotonic_seconds() - begin);
}

}  // namespace

void rates_inside(job& j, const coalescing& how, int turns) {
  std::vector<double> rates = j.run([&] {
    communicator all;
    coalesce_all(how);
    std::vector<double> seen;
    for (int i = 0; i < turns; ++i) {
      all.barrier().get();
      const double mine = rate(20'000);
      seen.push_back(all.all_reduce(mine, minimum()).get());
    }
    return seen;
  });
  std::sort(rates.begin(), rates.end());
  const auto n = j.node().port().counts();
  if (j.here() == 0)
    std::printf("rate %.17g least %.3g best %.3g; %.1f parcels per message, %.0f bytes\n", median(rates), rates[0],
                rates.back(), double(n.parcels_sent) / n.messages_sent, double(n.bytes_sent) / n.messages_sent);
}

void round_trips_inside(job& j, int turns) {
  j.run_root([turns] {
    std::vector<double> us;
    for (int i = 0; i < turns; ++i) {
      constexpr int trips = 100;
      const double begin = monotonic_seconds();
      for (int k = 0; k < trips; ++k) async<&nothing>(1).get();
      us.push_back((monotonic_seconds() - begin) / trips * 1e6);
    }
    std::printf("rtt %.17g\n", median(us));
  });
}

}  // namespace plx::bench
