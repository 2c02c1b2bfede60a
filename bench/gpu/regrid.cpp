// A regrid check on a device that changes nothing: 11,264 blocks of 8^3 on two levels, of which a region keeps the
// finer ones.
//
//   bench_gpu_regrid [--backend NAME] [--quick] [--json FILE]
//
// Without --backend the first device of the best backend; if only the cpu is available, one line says so, and there are
// no rows. --quick: 176 blocks and few turns, also for `--backend cpu`.
// Rows, in microseconds, for criteria of the region alone (gpu/regrid/region/...) and with the default gradients of
// density and pressure (gpu/regrid/gradient/...):
//   kernels  of the criteria, and of ghost cells if they read any, one after the other
//   check    from the start of the task on a worker to the decision; all marks are those of the last check
//   beyond   check less kernels
//   differ   a check whose marks differ from those of the last one, so that the host computes the requests of all
//            blocks (gradient only: by turns with thresholds 1 and 4 times as high)
//   plan     the plan of the whole mesh on the host, which such checks avoid
// A number is the median of 25 turns, of `plan` the least.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "gpu_program.hpp"
#include "mesh/tree/regrid.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"
#include "star/driver/options.hpp"
#include "star/refine/regrid.hpp"
#include "star/runners/device_course.hpp"
#include "star/state/gas.hpp"

namespace {

using namespace plx;

std::unique_ptr<star::input> blast(bool quick, bool gradients) {
  std::vector<std::string> sets{"mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]",
                                quick ? "mesh.root_blocks=[4,4,4]" : "mesh.root_blocks=[16,16,16]", "mesh.max_level=1",
                                "refinement.regions=[-0.49,0.49,-0.24,0.24,-0.24,0.24,1]"};
  if (!gradients) sets.emplace_back("refinement.gradient_of=[]");
  return star::input::from_text("[problem]\nname = \"sedov\"\n", "bench_gpu_regrid", sets).value();
}

/// Median of the microseconds of f(turn).
template <class F>
double us_of(int turns, F&& f) {
  std::vector<double> all;
  for (int t = 0; t < turns; ++t) {
    const double begin = monotonic_seconds();
    f(t);
    all.push_back(1e6 * (monotonic_seconds() - begin));
  }
  return bench::median(all);
}

/// Rows of one kind of criteria. Returns the number of wrong results.
int measure(bench::report& out, const gpu::backend& b, bool quick, bool gradients) {
  const std::string name = std::string("gpu/regrid/") + (gradients ? "gradient/" : "region/");
  const std::unique_ptr<star::input> in = blast(quick, gradients);
  const star::setup s = in->prepare().value();
  runtime rt;
  star::gas g(s);
  const int turns = quick ? 3 : 25, after = static_cast<int>(in->refinement.coarsen_after);
  int wrong = 0;
  auto opened = star::device_course::open(*in, s, g, rt, &b);
  if (!opened) throw std::runtime_error(opened.error().message);
  star::device_course& course = **opened;
  rt.run([&] {
    star::worker_scratch scratch(rt.worker_count(), s.hydro, g.mesh.block_size());
    star::build_initial(g, s, in->refinement, *in->problem, scratch);
    course.take();
  });
  std::vector<mesh::flag> flags;
  const auto check = [&](double weakening) {
    rt.run([&] {
      flags = course.refinement_flags(weakening, nullptr);
      if (!mesh::count_requests(g.mesh, flags, after)) ++wrong;
    });
  };
  check(1.0);
  const double kernels = 1e6 * rt.run([&] { return course.time_marks(turns); });
  check(1.0);
  const std::int64_t before = course.marks_read();
  const double all = us_of(turns, [&](int) { check(1.0); });
  if (course.marks_read() != before) ++wrong;
  std::printf("# %s%zu blocks\n", name.c_str(), g.mesh.block_count());
  out.add(name + "kernels", kernels, "us", bench::lower);
  out.add(name + "check", all, "us", bench::lower);
  out.add(name + "beyond", all - kernels, "us", bench::lower);
  if (gradients) {
    out.add(name + "differ", us_of(turns, [&](int t) { check(t % 2 == 0 ? 4.0 : 1.0); }), "us", bench::lower);
    if (course.marks_read() != before + turns) ++wrong;
  }
  double plan = 1e9;
  for (int t = 0; t < turns; ++t)
    plan = std::min(plan, us_of(1, [&](int) { wrong += mesh::plan_regrid(g.mesh, flags, after).changed() ? 1 : 0; }));
  out.add(name + "plan", plan, "us", bench::lower);
  if (wrong > 0) std::printf("# WRONG: %d decisions or counts of %s\n", wrong, name.c_str());
  return wrong;
}

int run(bench::report& out) {
  const auto [which, quick] = bench::gpu_arguments_of(out);
  const gpu::backend* b = bench::chosen_backend(which, "gpu/regrid/*");
  if (b == nullptr) return 0;
  int wrong = measure(out, *b, quick, false);
  wrong += measure(out, *b, quick, true);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) { return bench::main_of("bench_gpu_regrid", argc, argv, run); }
