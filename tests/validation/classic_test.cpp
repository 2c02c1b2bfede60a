// The problems of Liska & Wendroff (2003), the double Mach reflection, the cloud in a wind, and boundaries whose state
// the problem gives: what is known of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness.hpp"
#include "star/exact/shocks.hpp"

namespace plx::star::validation {
namespace {

std::int64_t floors_of(const simulation& s) { return s.floors().density + s.floors().pressure + s.floors().input; }

TEST(Classic, TwoDimensionalRiemannProblems) {
  table t("two-dimensional Riemann problems, 64^2");
  for (const std::string number : {"3", "4", "6", "12", "15", "17"}) {
    solved s("riemann_2d", {"riemann_2d.configuration=" + number, "mesh.root_blocks=[8,8,1]",
                            "mesh.upper=[0.5,0.5,0.125]", "run.t_end=0.2"});
    s.run();
    double least = 1e300, most = 0.0, across = 0.0;
    for_cells(s.sim().state(), [&](const double* u, double, double, double, double) {
      least = std::min(least, u[0]), most = std::max(most, u[0]);
      across = std::max(across, std::abs(u[(i_momentum + 2) * s.sim().state().now.cells()]));
    });
    t.at_most("configuration " + number + ": floors", static_cast<double>(floors_of(s.sim())), 0.0);
    t.at_most("configuration " + number + ": momentum along z", across, 0.0);
    t.note("configuration " + number + ": smallest density", least);
    t.note("configuration " + number + ": largest density", most);
    if (number == "3" || number == "4" || number == "12")
      t.holds("configuration " + number + ": symmetric about the diagonal to the last bit",
              symmetric_about_diagonal(s.sim().state()));
  }
}

void implosion(int blocks, double t_end) {
  solved s("implosion", {fmt::format("mesh.root_blocks=[{0},{0},1]", blocks),
                         fmt::format("mesh.upper=[0.3,0.3,{}]", 0.3 / blocks), fmt::format("run.t_end={}", t_end)});
  simulation& sim = s.sim();
  sim.start();
  const std::vector<double> before = sim.totals();
  while (!sim.finished()) ASSERT_TRUE(sim.step());
  const std::vector<double> after = sim.totals();
  table t(fmt::format("implosion, {}^2, to t = {}", 8 * blocks, t_end));
  t.holds("symmetric about the diagonal to the last bit", symmetric_about_diagonal(sim.state()));
  t.at_most("change of mass", std::abs(after[i_density] / before[i_density] - 1.0), 1e-13);
  t.at_most("change of energy", std::abs(after[i_energy] / before[i_energy] - 1.0), 1e-13);
  t.at_most("floors", static_cast<double>(floors_of(sim)), 0.0);
}

TEST(Classic, ImplosionStaysSymmetric) { implosion(6, 0.5); }
TEST(Classic, ImplosionToItsEnd) { implosion(12, 2.5); }

/// The mean density well behind Noh's shock, and the shock's radius: of a sphere or a cylinder with the volume of the
/// cells that are denser than the mean of both sides.
struct noh_result {
  double density, radius, floors;
};
noh_result noh(const std::string& dimensions, int blocks, const std::string& flux) {
  const bool three = dimensions == "3";
  std::vector<std::string> sets{"noh.dimensions=" + dimensions, "run.t_end=1", "hydro.flux=" + flux,
                                fmt::format("mesh.root_blocks=[{0},{0},{1}]", blocks, three ? blocks : 1)};
  if (!three) {
    sets.push_back(fmt::format("mesh.upper=[1,1,{}]", 1.0 / blocks));
    sets.push_back(R"(mesh.sides=["reflecting","problem","reflecting","problem","periodic","periodic"])");
  }
  solved s("noh", sets);
  s.run();
  const double time = s.sim().time(), exact = time / 3.0, behind = three ? 64.0 : 16.0;
  const double middle = 0.5 * (behind + (three ? 16.0 : 4.0));
  double mass = 0.0, space = 0.0, dense = 0.0;
  for_cells(s.sim().state(), [&](const double* u, double x, double y, double z, double width) {
    const double r = std::sqrt(x * x + y * y + (three ? z * z : 0.0)), volume = width * width * width;
    if (r > 0.5 * exact && r < 0.85 * exact) mass += u[0] * volume, space += volume;
    if (u[0] > middle || r < 0.5 * exact) dense += volume;
  });
  const double area = three ? 0.0 : dense * blocks;  // by the thickness
  return {mass / space, three ? std::cbrt(6.0 * dense / std::acos(-1.0)) : std::sqrt(4.0 * area / std::acos(-1.0)),
          static_cast<double>(floors_of(s.sim()))};
}

void noh_rows(table& t, const std::string& dimensions, int blocks, const std::vector<std::string>& fluxes,
              double density_bound, double radius_bound) {
  for (const std::string& flux : fluxes) {
    const noh_result r = noh(dimensions, blocks, flux);
    const std::string what = fmt::format("{} dimensions, {} cells, {}: ", dimensions, 8 * blocks, flux);
    t.at_most(what + "density behind the shock, relative error",
              std::abs(r.density / (dimensions == "3" ? 64 : 16) - 1), density_bound);
    t.at_most(what + "shock radius, relative error", std::abs(3.0 * r.radius - 1.0), radius_bound);
    t.at_most(what + "floors", r.floors, 0.0);
  }
}

TEST(Classic, Noh) {
  table t("Noh, two dimensions, t = 1");
  noh_rows(t, "2", 12, {"hllc_lm", "hllc"}, 0.03, 0.02);
}

TEST(Classic, NohInThreeDimensions) {
  table t("Noh, three dimensions, t = 1");
  noh_rows(t, "3", 6, {"hllc_lm"}, 0.08, 0.03);
}

/// Where the pressure on the wall first exceeds ten times the undisturbed one, from the right: the foot of the Mach
/// stem.
double foot_of_stem(const simulation& sim) {
  const gas& g = sim.state();
  const std::ptrdiff_t cells = g.now.cells();
  double foot = 0.0;
  for_cells(g, [&](const double* u, double x, double y, double, double width) {
    if (y > width) return;
    double m2 = 0.0;
    for (int a = 0; a < 3; ++a) m2 += u[(i_momentum + a) * cells] * u[(i_momentum + a) * cells];
    if (0.4 * (u[i_energy * cells] - 0.5 * m2 / u[0]) > 10.0) foot = std::max(foot, x + 0.5 * width);
  });
  return foot;
}

TEST(Classic, DoubleMachReflection) {
  const double width = 1.0 / 32.0;
  solved s("double_mach", {"mesh.root_blocks=[16,4,1]", "mesh.upper=[4,1,0.25]"});
  simulation& sim = s.sim();
  sim.start();
  double half = 0.0;
  while (!sim.finished()) {
    ASSERT_TRUE(sim.step());
    if (half == 0.0 && sim.time() >= 0.1) half = (foot_of_stem(sim) - 1.0 / 6.0) / sim.time();
  }
  const double foot = foot_of_stem(sim) - 1.0 / 6.0;
  double along_top = 0.0;  // of the incident shock
  for_cells(sim.state(), [&](const double* u, double x, double y, double, double w) {
    if (y > 1.0 - w && u[0] > 4.7) along_top = std::max(along_top, x + 0.5 * w);
  });
  table t("double Mach reflection, 32 cells for the height, t = 0.2");
  // The incident shock alone would touch the wall at 10 t / sin 60 = 2.31; the reflection runs ahead of it.
  t.at_least("foot of the Mach stem from the wall's edge", foot, 2.5);
  t.at_most("foot of the Mach stem from the wall's edge", foot, 2.7);
  t.at_most("self-similar: change of the foot over t since t = 0.1, in cells", std::abs(foot - 0.2 * half) / width,
            2.0);
  t.at_most("incident shock at the top boundary: error, in cells",
            std::abs(along_top - (1.0 / 6.0 + (1.0 - 0.5 * width + 4.0) / std::sqrt(3.0))) / width, 1.5);
  t.at_most("density floors and floors of input", static_cast<double>(sim.floors().density + sim.floors().input), 0.0);
}

/// The part of the cloud's mass in gas that is still dense and cold.
double cloud_left(const simulation& sim) {
  const gas& g = sim.state();
  const std::ptrdiff_t cells = g.now.cells();
  double left = 0.0;
  for_cells(g, [&](const double* u, double, double, double, double width) {
    double m2 = 0.0;
    for (int a = 0; a < 3; ++a) m2 += u[(i_momentum + a) * cells] * u[(i_momentum + a) * cells];
    const double temperature = (2.0 / 3.0) * (u[i_energy * cells] - 0.5 * m2 / u[0]) / u[0];  // 0.6 in the wind
    if (u[0] > 0.64 * 10.0 && temperature < 0.9 * 0.6) left += u[0] * width * width * width;
  });
  return left / (10.0 * 4.0 / 3.0 * std::acos(-1.0) * 1e-3);
}

TEST(Classic, ACloudInAWindIsTornApart) {
  solved s("blob", {"mesh.max_level=0", "mesh.root_blocks=[16,8,8]"});
  simulation& sim = s.sim();
  sim.start();
  const double growth = s.exact().references(0).at(0).value;
  std::vector<double> left{cloud_left(sim)};
  while (!sim.finished()) {
    ASSERT_TRUE(sim.step());
    if (sim.time() >= 0.5 * growth * static_cast<double>(left.size())) left.push_back(cloud_left(sim));
  }
  if (left.size() < 5) left.push_back(cloud_left(sim));
  table t("cloud of contrast 10 in a Mach 2.7 wind, 6.4 cells for its radius");
  for (std::size_t i = 0; i < left.size(); ++i)
    t.note(fmt::format("cloud's mass after {} growth times", 0.5 * static_cast<double>(i)), left[i]);
  t.at_least("cloud's mass at the start", left[0], 0.8);
  for (std::size_t i = 2; i < left.size(); ++i)
    t.at_most(fmt::format("cloud's mass after {} growth times over that before", 0.5 * static_cast<double>(i)),
              left[i] / left[i - 1], 1.0);
  t.at_most("cloud's mass after 2 growth times", left.back(), 0.3);
}

TEST(Classic, ProblemBoundariesCarryObliqueWavesOut) {
  table t("Sod along (1,1,0) in an open box, 64^2, t = 0.25: L1(rho)");
  const std::string z = R"(,"periodic","periodic"])";
  const auto error_with = [&](const std::string& side) {
    const std::string q = '"' + side + '"';
    solved s("sod",
             {"sod.direction=[1,1,0]", "mesh.root_blocks=[8,8,1]", "mesh.max_level=0", "mesh.lower=[-0.5,-0.5,-0.0625]",
              "mesh.upper=[0.5,0.5,0.0625]", "run.t_end=0.25", "mesh.sides=[" + q + "," + q + "," + q + "," + q + z});
    return s.run().l1(i_density);
  };
  const double given = error_with("problem"), open = error_with("zero_gradient");
  t.note("zero_gradient", open);
  t.at_most("problem", given, 4.6e-3);
  t.at_most("problem, over zero_gradient", given / open, 0.7);
}

}  // namespace
}  // namespace plx::star::validation
