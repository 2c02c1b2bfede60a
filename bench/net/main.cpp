#include "net/coalescing.hpp"
#include "net/job.hpp"
#include "parts.hpp"

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "inside") == 0) {
    try {
      plx::job job(plx::job_options{.runtime = {.workers = 1}});
      const std::string part = argv[2];
      if (part == "rtt") plx::bench::round_trips_inside(job, 500);
      if (part == "direct") plx::bench::rates_inside(job, {.parcels = 1}, 50);
      if (part == "self") plx::bench::rates_inside(job, plx::self_clocking, 100);
      if (part == "static") plx::bench::rates_inside(job, {.parcels = 128, .interval_us = 1000}, 100);
    } catch (const plx::job_error& e) {
      return e.report("bench_net");
    }
    return 0;
  }
  plx::bench::report r(argc, argv);
  plx::bench::cost(r, false);
  return r.finish();
}
