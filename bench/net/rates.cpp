// Independent small calls with a result, by both localities concurrently: calls per second and direction.
#include <complex>
#include <cstdio>
#include <vector>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/coalescing.hpp"
#include "net/collectives.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "parts.hpp"

namespace plx::bench {
namespace {

using number = std::complex<double>;
number conjugate(number z) { return std::conj(z); }

constexpr struct {
  const char* name;
  coalescing how;
  int calls;  // per turn
} ways[] = {
    {"direct", {.parcels = 1}, 2'560},
    {"selfclock", self_clocking, 20'480},
    {"static128", {.parcels = 128, .interval_us = 1000}, 20'480}};  // whole messages: the last one does not wait

/// Calls per second of this locality.
double rate(int calls) {
  static std::vector<future<number>> results;
  results.clear();
  results.reserve(calls);
  const locality_id other = 1 - find_here();
  const double begin = monotonic_seconds();
  for (int i = 0; i < calls; ++i) results.push_back(async<&conjugate>(other, number(i, 1)));
  for (auto& r : results) r.wait();
  return calls / (monotonic_seconds() - begin);
}

}  // namespace

void rates(inside& in) {
  std::vector<double> seen[std::size(ways)];
  in.j.run([&] {
    const communicator all;
    for (int i = 0; all.broadcast(in.more(i, 60)).get(); ++i)
      for (std::size_t k = 0; k < std::size(ways); ++k) {
        all.barrier().get();
        coalesce_all(ways[k].how);  // flushes pending parcels, so that messages start with the calls
        const double mine = rate(ways[k].calls);
        coalesce_all(self_clocking);
        const double slower = all.all_reduce(mine, minimum()).get();
        if (i > 0) seen[k].push_back(slower);  // the first turn allocates memory
      }
  });
  if (in.j.here() != 0) return;
  for (std::size_t k = 0; k < std::size(ways); ++k) {
    std::printf("# %s: best %.3g calls/s\n", ways[k].name, *std::max_element(seen[k].begin(), seen[k].end()));
    in.rows.add("net/rate" + in.suffix + "/" + ways[k].name, median(seen[k]), "calls/s per direction", higher);
  }
}

}  // namespace plx::bench
