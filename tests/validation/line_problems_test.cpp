// One-dimensional problems: the battery of Liska & Wendroff (2003) and Noh's, against the exact Riemann solution; the
// interacting blast waves, Shu & Osher's problem and the explosion, against a fine solution along a line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness.hpp"
#include "line_solver.hpp"

namespace plx::star::validation {
namespace {

using end = line_solver::end;

/// `n` cells along x from a to b, one block along y and z.
std::vector<std::string> line_of(int n, double a, double b, std::vector<std::string> more) {
  const double half = 4.0 * (b - a) / n;
  more.insert(more.end(), {"mesh.root_blocks=" + array({n / 8.0, 1, 1}), "mesh.max_level=0",
                           "mesh.lower=" + array({a, -half, -half}), "mesh.upper=" + array({b, half, half})});
  return more;
}

struct riemann_case {
  const char* name;
  std::array<double, 3> left, right;
  double lower, upper, position, t_end, gamma;
  int cells;
  double bound;  ///< of L1(rho)
};

// Liska & Wendroff (2003), table 1 and section 3; Noh's with two flows that meet.
constexpr riemann_case battery[] = {
    {"1: sonic point in a rarefaction", {1, 0.75, 1}, {0.125, 0, 0.1}, 0, 1, 0.3, 0.2, 1.4, 120, 3.3e-3},
    {"2: two rarefactions", {1, -2, 0.4}, {1, 2, 0.4}, 0, 1, 0.5, 0.15, 1.4, 120, 1.02e-2},
    {"3: strong shock, slow contact", {1, -19.59745, 1000}, {1, -19.59745, 0.01}, 0, 1, 0.8, 0.012, 1.4, 120, 3.3e-2},
    {"4: two strong shocks",
     {5.99924, 19.5975, 460.894},
     {5.99242, -6.19633, 46.095},
     0,
     1,
     0.4,
     0.035,
     1.4,
     120,
     0.235},
    {"5: contact at rest", {1.4, 0, 1}, {1, 0, 1}, 0, 1, 0.5, 2, 1.4, 120, 1e-15},
    {"6: slow contact", {1.4, 0.1, 1}, {1, 0.1, 1}, 0, 1, 0.5, 2, 1.4, 120, 3.3e-3},
    {"peak",
     {0.1261192, 8.9047029, 782.92899},
     {6.591493, 2.2654207, 3.1544874},
     0.1,
     0.6,
     0.5,
     0.0039,
     1.4,
     200,
     0.22},
    {"Noh", {1, 1, 1e-6}, {1, -1, 1e-6}, 0, 1, 0.5, 1, 5.0 / 3.0, 120, 6e-2},
};

TEST(Line, RiemannBattery) {
  table t("one-dimensional Riemann problems: L1(rho)");
  for (const riemann_case& c : battery) {
    const double middle = 0.5 * (c.lower + c.upper);
    const auto state = [](const std::array<double, 3>& s) { return array({s[0], s[1], s[2]}); };
    solved s("riemann_1d", line_of(c.cells, c.lower, c.upper,
                                   {"sod.left=" + state(c.left), "sod.right=" + state(c.right),
                                    fmt::format("sod.position={}", c.position - middle),
                                    fmt::format("run.t_end={}", c.t_end), fmt::format("hydro.gamma={}", c.gamma)}));
    s.run();
    t.at_most(fmt::format("{}, {} cells", c.name, c.cells), s.l1(i_density), c.bound);
    const floor_counts& f = s.sim().floors();
    t.at_most(std::string(c.name) + ": floors", static_cast<double>(f.density + f.pressure), 0.0);
  }
}

/// Mean of |rho - reference| over the cells, along x.
double l1_along_x(const gas& g, const line_solver& reference) {
  double sum = 0.0;
  std::int64_t count = 0;
  for_cells(g, [&](const double* u, double x, double, double, double width) {
    sum += std::abs(u[0] - reference.density(x - 0.5 * width, x + 0.5 * width));
    ++count;
  });
  return sum / static_cast<double>(count);
}

TEST(Line, InteractingBlastWaves) {
  solved s("blast_waves", line_of(200, 0, 1, {}));
  s.run();
  line_solver fine(1, 0, 1, 1600, 1.4, {end::wall, end::wall}, [](double x) {
    return line_solver::state{1.0, 0.0, x < 0.1 ? 1000.0 : x < 0.9 ? 0.01 : 100.0};
  });
  fine.run(s.sim().time());
  double most = 0.0;
  for_cells(s.sim().state(), [&](const double* u, double, double, double, double) { most = std::max(most, u[0]); });
  table t("interacting blast waves, 200 cells, t = 0.038");
  t.at_most("L1(rho) against 1600 cells along a line", l1_along_x(s.sim().state(), fine), 0.128);
  t.at_least("largest density", most, 4.8);
}

TEST(Line, ShockMeetsAWaveInDensity) {
  solved s("shu_osher", line_of(320, -5, 5, {}));
  s.run();
  line_solver fine(1, -5, 5, 2000, 1.4, {end::open, end::open}, [](double x) {
    return x < -4 ? line_solver::state{3.857143, 2.629369, 10.33333}
                  : line_solver::state{1.0 + 0.2 * std::sin(5.0 * x), 0.0, 1.0};
  });
  fine.run(s.sim().time());
  double low = 1e300, high = 0.0, low_fine = 1e300, high_fine = 0.0;  // of the short waves behind the shock
  for_cells(s.sim().state(), [&](const double* u, double x, double, double, double width) {
    if (x < 0.6 || x > 2.2) return;
    const double exact = fine.density(x - 0.5 * width, x + 0.5 * width);
    low = std::min(low, u[0]), high = std::max(high, u[0]);
    low_fine = std::min(low_fine, exact), high_fine = std::max(high_fine, exact);
  });
  table t("Shu & Osher's problem, 320 cells, t = 1.8");
  t.at_most("L1(rho) against 2000 cells along a line", l1_along_x(s.sim().state(), fine), 5.5e-2);
  t.at_least("amplitude of the short waves over that on 2000 cells", (high - low) / (high_fine - low_fine), 0.5);
}

/// Mean of |rho - reference| at the distances of the cells' centres from the centre, out to 1.
double l1_along_radius(const gas& g, int dimensions, const line_solver& reference) {
  double sum = 0.0;
  std::int64_t count = 0;
  for_cells(g, [&](const double* u, double x, double y, double z, double) {
    const double r = std::sqrt(x * x + y * y + (dimensions == 3 ? z * z : 0.0));
    if (r > 1.0) return;
    sum += std::abs(u[0] - reference.density(r, r));
    ++count;
  });
  return sum / static_cast<double>(count);
}

TEST(Line, Explosion) {
  table t("explosion, t = 0.25: L1(rho) against 1500 cells along the radius");
  for (const int dimensions : {2, 3}) {
    const int blocks = dimensions == 2 ? 8 : 4;
    std::vector<std::string> sets{"run.t_end=0.25", "mesh.max_level=0"};
    sets.push_back(fmt::format("mesh.root_blocks=[{0},{0},{1}]", blocks, dimensions == 2 ? 1 : blocks));
    sets.push_back(dimensions == 2 ? "mesh.upper=[1,1,0.125]" : "mesh.upper=[1,1,1]");
    if (dimensions == 3) {
      sets.push_back("piecewise.shape=sphere");
      sets.push_back(R"(mesh.sides=["reflecting","outflow","reflecting","outflow","reflecting","outflow"])");
    }
    solved s("explosion", sets);
    s.run();
    line_solver fine(dimensions, 0, 1, 1500, 1.4, {end::wall, end::open}, [](double r) {
      return r < 0.4 ? line_solver::state{1, 0, 1} : line_solver::state{0.125, 0, 0.1};
    });
    fine.run(s.sim().time());
    const std::string what = fmt::format("{} dimensions, {} cells per unit: ", dimensions, 8 * blocks);
    t.at_most(what + "L1(rho)", l1_along_radius(s.sim().state(), dimensions, fine), dimensions == 2 ? 5e-3 : 6.5e-3);
    if (dimensions == 2) t.holds(what + "symmetric about the diagonal", symmetric_about_diagonal(s.sim().state()));
  }
}

}  // namespace
}  // namespace plx::star::validation
