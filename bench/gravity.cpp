// Self-gravity on a uniform mesh of 64^3 cells in blocks of 8^3: cells per second of one solve, and cell updates per
// second of whole steps (RK3). A solve is a third of the difference of steps with and without. Also steps on a mesh of
// two levels, and there the errors of the accelerations against direct sums and the sums of forces and torques.
// `bench_gravity [curve] [TURNS]`; curve: errors and cost over theta and order, TURNS solves each in turns with the
// default.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "gas_workload.hpp"
#include "gravity_inputs.hpp"
#include "report.hpp"
#include "star/gravity/test/direct_sum.hpp"
#include "star/runners/gravity_field.hpp"

namespace {

using namespace plx;

bench::gas_workload star_on_workers(int roots, int level, unsigned workers, const std::vector<std::string>& gravity) {
  return bench::gas_workload(bench::star_in_a_box(roots, level, gravity), workers);
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

/// Solves of self-gravity on a uniform mesh of 64^3 cells, on one worker.
class solves {
 public:
  explicit solves(const std::vector<std::string>& gravity) : gas_(star_on_workers(8, 0, 1, gravity)) {
    star::gravity::gravity_options o = gas_.input().gravity;
    o.constant = 1.0;
    solver_ = std::make_unique<star::gravity_solver>(gas_.state(), o);
    cpu_us();  // the first one touches memory
  }
  /// CPU time of one per cell: other programs on the machine hardly count.
  double cpu_us() {
    const std::clock_t begin = std::clock();
    gas_.tasks().run([&] { solver_->solve(field_); });
    return 1e6 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / gas_.cells();
  }

 private:
  bench::gas_workload gas_;
  star::gravity_field field_;
  std::unique_ptr<star::gravity_solver> solver_;
};

int curve(bench::report& report, int turns) {
  solves usual({"gravity.self=true"});
  std::vector<double> of_usual;
  for (const double theta : {0.5, 0.41, 0.35, 0.3, 0.25})
    for (const int order : {3, 4, 5, 6}) {
      char text[64];
      std::snprintf(text, sizeof(text), "gravity/curve/theta%.2f/order%d", theta, order);
      const std::string name(text);
      const std::vector<std::string> options{"gravity.theta=" + std::to_string(theta),
                                             "gravity.order=" + std::to_string(order)};
      bench::gas_workload refined = star_on_workers(4, 1, 1, options);
      const star::gravity::gravity_errors errors = errors_of(refined);
      report.add(name + "/median", errors.median, "1", bench::lower);
      report.add(name + "/99", errors.most, "1", bench::lower);
      report.add(name + "/potential", errors.potential, "1", bench::lower);
      solves these(options);
      std::vector<double> us, ratios;
      for (int turn = 0; turn < turns; ++turn) {
        of_usual.push_back(usual.cpu_us());
        us.push_back(these.cpu_us());
        ratios.push_back(us.back() / of_usual.back());
      }
      report.add(name + "/solve", bench::median(us), "us/cell", bench::lower);
      report.add(name + "/cost", bench::median(ratios), "default's", bench::lower);
    }
  report.add("gravity/curve/default/solve", bench::median(of_usual), "us/cell", bench::lower);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const bool is_curve = !report.rest().empty() && report.rest().front() == "curve";
  const std::size_t at = is_curve ? 1 : 0;
  const int turns = report.rest().size() > at ? std::max(1, std::atoi(report.rest()[at].c_str())) : 5;
  if (is_curve) return curve(report, turns);
  const std::vector<std::string> none, order5{"gravity.order=5"};
  bench::gas_workload plain = star_on_workers(8, 0, 1, none), with = star_on_workers(8, 0, 1, order5),
                      order4 = star_on_workers(8, 0, 1, {"gravity.order=4"}), plain2 = star_on_workers(8, 0, 2, none),
                      with2 = star_on_workers(8, 0, 2, order5), refined = star_on_workers(4, 1, 1, order5);
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
