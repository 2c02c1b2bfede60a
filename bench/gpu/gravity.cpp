// Self-gravity on a device: cells per second of one solve, cell updates per second of whole steps of gas and gravity
// (RK3) on a refined mesh, and seconds per step of the rotating star that others have published, with 27,672 blocks of
// 8^3 cells (published: 27,840).
//
//   bench_gpu_gravity [--backend NAME] [--quick] [--json FILE]
//
// Without --backend the first device of the best backend; if only the cpu is available, one line says so, and there are
// no rows. --quick: small meshes and one turn, also for `--backend cpu`.
// Rows: gpu/gravity/solve, gpu/gravity/step, gpu/gravity/rotating_star6, each with the default order and theta and, as
// .../order4_theta50, with order 4 and theta 1/2. A number is the median of five turns.
#include <cstdio>
#include <string>
#include <vector>

#include "device_workload.hpp"
#include "gpu_program.hpp"
#include "gravity_inputs.hpp"
#include "report.hpp"

namespace {

using namespace plx;

struct variant {
  const char* suffix;
  std::vector<std::string> gravity;
};

/// Median of the seconds that measure(workload) returns, after one call that does not count.
template <class Measure>
double seconds_of(const char* name, bench::device_workload& w, int turns, Measure&& measure) {
  std::printf("# %s: %zu blocks, %.0f cells\n", name, w.blocks(), w.cells());
  std::fflush(stdout);
  measure(w);
  std::vector<double> all;
  for (int t = 0; t < turns; ++t) all.push_back(measure(w));
  return bench::median(all);
}

int run(bench::report& out) {
  const auto [which, quick] = bench::gpu_arguments_of(out);
  const gpu::backend* b = bench::chosen_backend(which, "gpu/gravity/*");
  if (b == nullptr) return 0;

  const int turns = quick ? 1 : 5, steps = quick ? 1 : 10;
  const variant variants[] = {{"", {"gravity.order=5", "gravity.theta=0.35"}},
                              {"/order4_theta50", {"gravity.order=4", "gravity.theta=0.5"}}};
  for (const variant& v : variants) {
    const std::string name = std::string("gpu/gravity/solve") + v.suffix;
    bench::device_workload w(*b, bench::star_in_a_box(quick ? 2 : 32, 0, v.gravity));
    if (v.suffix[0] == '\0') std::printf("# device: %s\n", w.device().c_str());
    const double s = seconds_of(name.c_str(), w, turns, [](bench::device_workload& x) { return x.solve(); });
    out.add(name, 1e-6 * w.cells() / s, "M cells/s", bench::higher);
  }
  const auto step = [&](bench::device_workload& w) { return w.measure(steps); };
  for (const variant& v : variants) {
    const std::string name = std::string("gpu/gravity/step") + v.suffix;
    bench::device_workload w(*b, bench::star_in_a_box(quick ? 4 : 8, quick ? 1 : 2, v.gravity));
    const double s = seconds_of(name.c_str(), w, turns, step);
    out.add(name, 1e-6 * w.cells() / s, "M cell updates/s", bench::higher);
  }
  for (const variant& v : variants) {
    const std::string name = std::string("gpu/gravity/rotating_star6") + v.suffix;
    bench::device_workload w(*b, bench::rotating_star(quick ? 0 : 4, v.gravity));
    out.add(name, seconds_of(name.c_str(), w, turns, step), "s/step", bench::lower);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("bench_gpu_gravity", argc, argv, run); }
