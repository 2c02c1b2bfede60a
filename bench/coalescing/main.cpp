// The experiments on coalescing of parcels, one line of CSV per measurement: see options.hpp for the options, and
// docs/coalescing.md for the results. bench/harness/bench_coalescing.py runs all parts and draws the plots.
#include <cstdio>
#include <exception>

#include "net/job.hpp"
#include "options.hpp"
#include "parts.hpp"

namespace {

void run_part(plx::job& job, const plx::bench::options& o) {
  using namespace plx::bench;
  if (o.part == "toy") sweep_toy(job, o);
  if (o.part == "change") change_toy(job, o);
  if (o.part == "rotation") sweep_rotation(job, o);
  if (o.part == "phases" || o.part == "finals") run_phases(job, o);
}

// The reason why this number of localities does not fit the part; null if it does.
const char* misfit(const plx::bench::options& o, unsigned localities) {
  const bool phases = o.part == "phases" || o.part == "finals";
  const bool toy = o.part == "toy" || o.part == "change" || (phases && o.traffic == "toy");
  if (toy && localities != 2) return "this part needs two localities: mpirun -n 2 bench_coalescing ...";
  if (localities < 2) return "this part needs several localities: mpirun -n 4 bench_coalescing ...";
  for (const unsigned nc : o.sizes)
    if (!toy && nc % localities != 0) return "--sizes: expected multiples of the number of localities";
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = plx::bench::read_options(argc, argv);
  if (!options) return std::fprintf(stderr, "bench_coalescing: %s\n", options.error().message.c_str()), 2;
  if (options->part == "carrier") return plx::bench::measure_carrier(*options);
  try {
    plx::job job(plx::job_options{.runtime = {.workers = 1}});
    if (const char* why = misfit(*options, job.size())) {
      if (job.here() == 0) std::fprintf(stderr, "bench_coalescing: %s\n", why);
      job.run([] {});
      return 2;
    }
    job.run([&] { run_part(job, *options); });
  } catch (const plx::job_error& e) {
    return e.report("bench_coalescing");
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "bench_coalescing: %s\n", e.what()), 1;
  }
  return 0;
}
