// Cost and throughput of calls between processes.
//
//   bench_net [--quick] [--json FILE]                     the rows of one process
//   mpirun -n 2 bench_net inside PART [--suffix TEXT] [--quick] [--json FILE]
//   mpirun -n N bench_net inside flood [--calls N] ...    N - 1 processes flood the other one; calls of each
//   mpirun -n N bench_net inside large_all_reduce ...   also checkpoint
//
// `./plx bench net` runs all parts; bench/harness/run_bench.py lists them.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "net/core/node.hpp"
#include "net/job.hpp"
#include "parts.hpp"
#include "raw.hpp"

namespace {

using namespace plx::bench;

constexpr double seconds_of_a_part = 5;

constexpr struct {
  const char* name;
  void (*run)(inside&);
} parts[] = {
    {"round_trip", round_trip}, {"rates", rates}, {"bandwidth", bandwidth}, {"all_reduce", all_reduce},
    {"flood", flood},           {"put", put},     {"atomics", atomics},     {"large_all_reduce", large_all_reduce},
    {"checkpoint", checkpoint}};

int wrong(const std::string& found) {
  std::fprintf(
      stderr,
      "bench_net: expected nothing, or `inside` and one of transport, round_trip, rates, bandwidth, "
      "all_reduce, large_all_reduce, checkpoint, flood, put, atomics, in a job of two (large_all_reduce, checkpoint, "
      "flood: or more); "
      "found '%s'\n",
      found.c_str());
  return 2;
}

int take_part(report& r, const std::string& part, const std::string& suffix, bool quick, int calls) {
  // MPI is initialized before the job and finalized after it.
  std::string why;
  const auto mpi = part == "all_reduce" ? raw_mpi::open(why) : nullptr;
  plx::job job(plx::job_options{.runtime = {.workers = 1}});
  if (!why.empty() && job.here() == 0) std::printf("# no figures of MPI: %s\n", why.c_str());
  const bool any_number = part == "flood" || part == "checkpoint" || part == "large_all_reduce";
  if (any_number ? job.size() < 2 : job.size() != 2)
    return wrong(part + "' with " + std::to_string(job.size()) + " processes; start '2");
  if (part == "transport") {
    if (job.here() == 0) std::printf("transport %s\n", std::string(job.node().carrier().name()).c_str());
    job.run([] {});
    return 0;
  }
  for (const auto& p : parts)
    if (part == p.name) {
      inside in{job, r, mpi.get(), suffix, quick, calls, plx::monotonic_seconds() + seconds_of_a_part};
      p.run(in);
      return job.here() == 0 ? r.finish() : 0;
    }
  return wrong(part);
}

}  // namespace

int main(int argc, char** argv) {
  report r(argc, argv);
  std::string part, suffix;
  bool quick = false;
  int calls = 400'000;
  const auto& words = r.rest();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "inside" && i + 1 < words.size())
      part = words[++i];
    else if (words[i] == "--suffix" && i + 1 < words.size())
      suffix = words[++i];
    else if (words[i] == "--quick")
      quick = true;
    else if (words[i] == "--calls" && i + 1 < words.size() && (calls = std::atoi(words[++i].c_str())) > 0)
      continue;
    else
      return wrong(words[i]);
  }
  if (part.empty()) {
    cost(r, quick);
    timer(r, quick);
    return r.finish();
  }
  try {
    return take_part(r, part, suffix, quick, calls);
  } catch (const plx::job_error& e) {
    return e.report("bench_net");
  }
}
