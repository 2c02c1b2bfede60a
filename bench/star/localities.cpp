// Sedov's blast on an adaptive mesh on one process and on two, each of one worker: cell updates per second, and the
// second over the first. The program starts itself under mpirun, in turns; without mpirun there is nothing to compare.
//
//   bench_star_localities [STEPS]
//   mpirun -n 2 bench_star_localities --part STEPS    # one measurement: "seconds cell_updates blocks imbalance"
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/job.hpp"
#include "net/node.hpp"
#include "report.hpp"
#include "star/simulation.hpp"

namespace {

using namespace plx;

std::unique_ptr<star::input> blast() {
  auto in = star::input::from_text(
      "[problem]\nname = \"sedov\"\n", "benchmark",
      {"mesh.root_blocks=[2,2,2]", "mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]", "mesh.max_level=2",
       "refinement.gradient_of=[\"press\"]", "hydro.gamma=1.4", "run.t_end=0.08"});
  if (!in) {
    std::fprintf(stderr, "%s\n", in.error().message.c_str());
    std::exit(1);
  }
  return *std::move(in);
}

double processor_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// One process's part of a measurement.
int take_part(int steps) {
  job_options options;
  options.runtime.workers = 1;
  job job(options);
  star::exchange net(job.node());
  const auto in = blast();
  const star::setup setup = in->prepare().value();
  star::simulation sim(*in, setup, job.home(), net);
  sim.start();
  for (int i = 0; i < 10; ++i) static_cast<void>(sim.step());
  const double begin_s = monotonic_seconds(), begin_cpu_s = processor_s();
  const std::int64_t before = sim.cell_updates();
  for (int i = 0; i < steps && !sim.finished(); ++i) static_cast<void>(sim.step());
  const double wall_s = monotonic_seconds() - begin_s;
  const net::port_counts c = job.node().port().counts();
  std::fprintf(stderr, "locality %u: %.3f s, processor %.3f s, %llu messages, %.1f MB, own %zu of %zu blocks\n",
               job.here(), wall_s, processor_s() - begin_cpu_s, static_cast<unsigned long long>(c.messages_sent),
               1e-6 * double(c.bytes_sent), sim.state().own().size(), sim.state().mesh.block_count());
  if (job.here() == 0)
    std::printf("%.6f %lld %zu %.3f %lld\n", wall_s, static_cast<long long>(sim.cell_updates() - before),
                sim.state().mesh.block_count(), sim.balance().imbalance(),
                static_cast<long long>(sim.balance().decisions()));
  job.run([] {});
  return 0;
}

// M cell updates/s of so many processes; 0 when they cannot be started.
double measure(const std::string& self, int processes, int steps) {
  const std::string command = "mpirun --oversubscribe -n " + std::to_string(processes) + " '" + self + "' --part " +
                              std::to_string(steps) + " 2>/dev/null";
  std::FILE* out = popen(command.c_str(), "r");
  double seconds = 0.0;
  long long updates = 0;
  const bool read = out != nullptr && std::fscanf(out, "%lf %lld", &seconds, &updates) == 2;
  if (out != nullptr) pclose(out);
  return read && seconds > 0.0 ? 1e-6 * double(updates) / seconds : 0.0;
}

std::string path_of_self() {
  char path[4096] = {};
  return readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : "";
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const auto& rest = report.rest();
  if (rest.size() == 2 && rest[0] == "--part") return take_part(std::atoi(rest[1].c_str()));
  const int steps = rest.empty() ? 40 : std::atoi(rest.front().c_str());
  const std::string self = path_of_self();
  std::vector<double> one, two, ratio;
  for (int turn = 0; turn < 5; ++turn) {
    one.push_back(measure(self, 1, steps));
    two.push_back(measure(self, 2, steps));
    if (one.back() == 0.0 || two.back() == 0.0) {
      std::printf("# mpirun did not start two processes: not measured\n");
      return report.finish();
    }
    ratio.push_back(two.back() / one.back());
  }
  report.add("star/sedov/p1", bench::median(one), "M cell updates/s", bench::higher);
  report.add("star/sedov/p2", bench::median(two), "M cell updates/s", bench::higher);
  report.add("star/sedov/p2_over_p1", bench::median(ratio), "", bench::higher);
  return report.finish();
}
