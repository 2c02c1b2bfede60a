// The sum of a double over both localities, one at a time; and the same with the installed MPI, alternating.
#include <cstdio>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "net/collectives.hpp"
#include "net/job.hpp"
#include "parts.hpp"
#include "raw_mpi.hpp"

namespace plx::bench {
namespace {

constexpr int calls = 500;

double ours(const communicator& all) {
  all.barrier().get();
  const double begin = monotonic_seconds();
  for (int i = 0; i < calls; ++i) all.all_reduce(1.0, std::plus<>()).get();
  return (monotonic_seconds() - begin) / calls * 1e6;
}

}  // namespace

void all_reduce(inside& in) {
  std::vector<double> plx_us, mpi_us;
  in.j.run([&] {
    const communicator all;
    const bool both = all.all_reduce(in.mpi != nullptr ? 1 : 0, minimum()).get() != 0;
    for (int i = 0; all.broadcast(in.more(i, 400)).get(); ++i) {
      plx_us.push_back(ours(all));
      if (both) mpi_us.push_back(in.mpi->all_reduce(calls) / calls * 1e6);
    }
  });
  if (in.j.here() != 0) return;
  in.rows.add("net/allreduce" + in.suffix + "/plx", median(plx_us), "us", lower);
  if (!mpi_us.empty()) in.rows.add("net/allreduce" + in.suffix + "/mpi", median(mpi_us), "us", lower);
}

}  // namespace plx::bench
