// Self-gravity on a uniform mesh of 64^3 cells in blocks of 8^3: cells per second of one solve, and cell updates per
// second of whole steps (RK3). A solve is a third of the difference of steps with and without. Also steps on a mesh of
// two levels, and there the errors of the accelerations against direct sums and the sums of forces and torques.
#include <cstdlib>
#include <string>
#include <vector>

#include "gas_workload.hpp"
#include "report.hpp"
#include "star/gravity/test/direct_sum.hpp"
#include "star/runners/gravity_field.hpp"

namespace {

using namespace plx;

/// A star in a box of roots^3 blocks, refined to `level` around the star, with or without self-gravity.
bench::gas_workload star_in_a_box(int roots, int level, unsigned workers, bool gravity,
                                  const std::string& order = "5") {
  const std::string r = std::to_string(roots), l = std::to_string(level);
  return bench::gas_workload(
      bench::input_of("[problem]\nname = \"polytrope\"\n[hydro]\ngamma = 1.6666666666666667\n",
                      {"mesh.root_blocks=[" + r + "," + r + "," + r + "]", "mesh.max_level=" + l,
                       "mesh.lower=[-2,-2,-2]", "mesh.upper=[2,2,2]", "polytrope.atmosphere=1e-6", "polytrope.radius=1",
                       std::string("gravity.self=") + (gravity ? "true" : "false"), "gravity.order=" + order,
                       "refinement.regions=[-1.1,1.1,-1.1,1.1,-1.1,1.1," + l + "]"}),
      workers);
}

star::gravity::gravity_errors errors_of(bench::gas_workload& w) {
  const star::gas& g = w.state();
  star::gravity::gravity_options o = w.input().gravity;
  o.constant = 1.0;  // as the run takes it
  star::gravity_field field;
  star::gravity_solver solver(g, o);
  w.tasks().run([&] { solver.solve(field); });
  std::vector<star::gravity::gravity_point> points;
  const int n = g.mesh.block_size(), cells = n * n * n;
  for (const mesh::slot_id s : g.mesh.blocks()) {
    const double *values = field.values(s), *density = g.now.block(s), width = g.mesh.cell_width(s);
    for (int c = 0; c < cells; ++c) {
      const double x[3] = {g.mesh.centre(s, 0, c % n), g.mesh.centre(s, 1, c / n % n),
                           g.mesh.centre(s, 2, c / (n * n))};
      points.push_back({{x[0], x[1], x[2]},
                        density[c] * width * width * width,
                        width,
                        values[c],
                        {values[cells + c], values[2 * cells + c], values[3 * cells + c]}});
    }
  }
  return star::gravity::compare_with_direct_sums(points, o.constant);
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const int turns = report.rest().empty() ? 5 : std::atoi(report.rest().front().c_str());
  bench::gas_workload plain = star_in_a_box(8, 0, 1, false), with = star_in_a_box(8, 0, 1, true),
                      order4 = star_in_a_box(8, 0, 1, true, "4"), plain2 = star_in_a_box(8, 0, 2, false),
                      with2 = star_in_a_box(8, 0, 2, true), refined = star_in_a_box(4, 1, 1, true);
  std::vector<double> solve, solve4, solve2, step, step2, step_refined;
  for (bench::gas_workload* w : {&plain, &with, &order4, &plain2, &with2, &refined}) w->measure(1);
  for (int turn = 0; turn < turns; ++turn) {
    const double gas = plain.measure(1), all = with.measure(1), all4 = order4.measure(1);
    const double gas2 = plain2.measure(1), all2 = with2.measure(1);
    solve.push_back(1e-6 * 3 * with.cells() / (all - gas));
    solve4.push_back(1e-6 * 3 * with.cells() / (all4 - gas));
    solve2.push_back(1e-6 * 3 * with.cells() / (all2 - gas2));
    step.push_back(1e-6 * with.cells() / all);
    step2.push_back(1e-6 * with.cells() / all2);
    step_refined.push_back(1e-6 * refined.cells() / refined.measure(1));
  }
  report.add("gravity/solve/b8", bench::median(solve), "M cells/s", bench::higher);
  report.add("gravity/solve/b8/order4", bench::median(solve4), "M cells/s", bench::higher);
  report.add("gravity/solve/w2", bench::median(solve2), "M cells/s", bench::higher);
  report.add("gravity/step/b8", bench::median(step), "M cell updates/s", bench::higher);
  report.add("gravity/step/w2", bench::median(step2), "M cell updates/s", bench::higher);
  report.add("gravity/step/refined", bench::median(step_refined), "M cell updates/s", bench::higher);
  const star::gravity::gravity_errors errors = errors_of(refined);
  report.add("gravity/error/median", errors.median, "1", bench::lower);
  report.add("gravity/error/99", errors.most, "1", bench::lower);
  report.add("gravity/momentum", errors.momentum, "1", bench::lower);
  report.add("gravity/torque", errors.torque, "1", bench::lower);
  return report.finish();
}
