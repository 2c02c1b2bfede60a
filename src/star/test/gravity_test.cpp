// Self-gravity on meshes of several levels: against direct sums, conservation, and the same bits on any processors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "star/gravity/self_gravity.hpp"
#include "star/gravity/test/direct_sum.hpp"
#include "star/sources/source_terms.hpp"
#include "star/test/course_test.hpp"
#include "star/test/gravity_recording.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;
using gravity::compare_with_direct_sums;
using gravity::gravity_errors;
using gravity::gravity_options;
using gravity::gravity_point;
using gravity::self_gravity;

double star(const double* x) {
  const double r2 = std::pow(x[0] - 0.07, 2) + std::pow(x[1] + 0.11, 2) + std::pow(x[2] - 0.05, 2);
  return 1e-8 + std::pow(std::max(0.0, 1 - r2 / 0.06), 1.5);
}

// Blocks of three levels, a root grid whose sides are no powers of two.
const std::vector<std::string> refined{"mesh.root_blocks=[3,2,2]", "mesh.lower=[-0.75,-0.5,-0.5]",
                                       "mesh.upper=[0.75,0.5,0.5]",
                                       "refinement.regions=[-0.1,0.15,-0.2,0.1,0.02,0.2,2]"};

TEST(Gravity, ForcesOfAStarAreThoseOfDirectSums) {
  std::vector<gravity_point> points;
  recording module({.self = true, .constant = 1.0}, 8);
  step_once(refined, module, star, points);
  const gravity_errors e = compare_with_direct_sums(points, 1.0);
  std::printf("force errors: median %.2e, 99 %% %.2e; potential %.2e; sums %.1e %.1e\n", e.median, e.most, e.potential,
              e.momentum, e.torque);
  EXPECT_LT(e.median, 2e-4);
  EXPECT_LT(e.most, 2e-3);
  EXPECT_LT(e.potential, 1e-4);
  EXPECT_LT(e.momentum, 1e-14);
  EXPECT_LT(e.torque, 1e-14);
}

// Smaller theta and higher orders are more exact; the conservation laws hold with each.
TEST(Gravity, ErrorsFallWithOrderAndTheta) {
  double last = 1.0;
  for (const auto& [theta, order] : {std::pair{0.5, 3}, {0.5, 4}, {0.35, 4}, {0.35, 6}}) {
    std::vector<gravity_point> points;
    recording module({.self = true, .constant = 1.0, .theta = theta, .order = order}, 8);
    step_once(refined, module, star, points);
    const gravity_errors e = compare_with_direct_sums(points, 1.0);
    std::printf("theta %.2f, order %d: median %.2e, 99 %% %.2e, potential %.2e; sums %.1e %.1e\n", theta, order,
                e.median, e.most, e.potential, e.momentum, e.torque);
    EXPECT_LT(e.median, last);
    EXPECT_LT(e.momentum, 1e-14);
    EXPECT_LT(e.torque, 1e-14);
    last = e.median;
  }
  EXPECT_LT(last, 1e-4);
}

// Without the correction, too: the two forces of a pair are derivatives of the same truncated sum and cancel. The
// torque that the truncation leaves is small, so the correction changes no force beyond the error of the method.
TEST(Gravity, PairForcesCancelBeforeTheCorrection) {
  constexpr struct {
    double theta;
    int order;
    double torque, change;  // twice what was found, relative
  } all[] = {{0.5, 3, 3e-5, 3e-4}, {0.5, 5, 5e-6, 5e-5}, {0.35, 5, 5e-8, 6e-7}, {0.35, 6, 2e-8, 2e-7}};
  for (const auto& [theta, order, most_torque, most_change] : all) {
    std::vector<gravity_point> points, as_summed;
    recording module({.self = true, .constant = 1.0, .theta = theta, .order = order}, 8);
    step_once(refined, module, star, points, &as_summed);
    gravity_errors e{};
    add_up(as_summed, e);
    double largest = 0.0, change = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i)
      for (int a = 0; a < 3; ++a) {
        largest = std::max(largest, std::abs(points[i].acceleration[a]));
        change = std::max(change, std::abs(points[i].acceleration[a] - as_summed[i].acceleration[a]));
      }
    std::printf("theta %.2f, order %d: sum of forces %.1e, of torques %.1e, largest correction %.1e\n", theta, order,
                e.momentum, e.torque, change / largest);
    EXPECT_LT(e.momentum, 1e-14);
    EXPECT_LT(e.torque, most_torque);
    EXPECT_LT(change, most_change * largest);
  }
}

// Masses without any structure: of all sizes, and few heavy cells among light ones, whose fields are those of points.
TEST(Gravity, RandomMassesHaveTheForcesOfDirectSums) {
  for (const bool few : {false, true}) {
    std::mt19937_64 random(few ? 5 : 4);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const auto density = [&](const double*) {
      const double u = uniform(random);
      return few ? (u < 0.01 ? 1.0 : 1e-6) : u;
    };
    std::vector<gravity_point> points, as_summed;
    recording module({.self = true, .constant = 1.0, .theta = 0.35, .order = 5}, 8);
    step_once(refined, module, density, points, &as_summed);
    const gravity_errors e = compare_with_direct_sums(points, 1.0);
    gravity_errors before{};
    add_up(as_summed, before);
    std::printf("%s: median %.2e, 99 %% %.2e, potential %.2e; sums %.1e %.1e, before the correction %.1e %.1e\n",
                few ? "few heavy cells" : "uniform", e.median, e.most, e.potential, e.momentum, e.torque,
                before.momentum, before.torque);
    EXPECT_LT(e.median, few ? 6e-4 : 1e-4);
    EXPECT_LT(e.most, few ? 4e-3 : 1e-3);
    EXPECT_LT(e.potential, few ? 5e-5 : 1e-5);
    EXPECT_LT(before.momentum, 2e-14);
    EXPECT_LT(before.torque, few ? 1e-5 : 5e-7);
  }
}

TEST(Gravity, LargerBlocksGiveTheSameForces) {
  std::vector<gravity_point> points;
  recording module({.self = true, .constant = 1.0}, 16);
  step_once({"mesh.block_size=16", "mesh.root_blocks=[1,1,1]", "refinement.regions=[-0.1,0.15,-0.2,0.1,0.02,0.2,2]"},
            module, star, points);
  const gravity_errors e = compare_with_direct_sums(points, 1.0);
  EXPECT_LT(e.median, 2e-4);
  EXPECT_LT(e.most, 2e-3);
  EXPECT_LT(e.torque, 1e-14);
}

outcome run_with(unsigned n, unsigned workers, std::vector<std::string> sets) {
  sets.push_back("run.max_steps=3");  // with a regrid after step 2
  const auto gravity = self_gravity::make({.self = true, .constant = 0.5, .order = 3}, isolated_box(8)).value();
  return run_on(n, workers, sets, [](simulation&) {}, nullptr, {gravity.get()});
}

TEST(Gravity, TheBitsAreTheSameOnWorkersLocalitiesAndADevice) {
  const outcome one = run_with(1, 2, {});
  ASSERT_EQ(one.error, "");
  ASSERT_GT(one.blocks.size(), 64u);
  EXPECT_NE(one.totals, run_on(1, 2, {"run.max_steps=3"}).totals);
  expect_same(run_with(1, 1, {}), one);
  expect_same(run_with(4, 2, {}), one);
  const char* device = std::getenv("PLX_STAR_TEST_DEVICE");
  const std::string on = std::string("run.device=") + (device != nullptr ? device : "emulated");
  for (const unsigned n : {1u, 2u})
    if (n == 2 || device != nullptr) expect_same(run_with(n, 2, {on}), one);
}

// full3d in a rotating frame, with the work of gravity and outflow.
TEST(Gravity, TheBitsAreTheSameOnADeviceInARotatingFrame) {
  const auto gravity =
      self_gravity::make({.self = true, .constant = 0.5, .theta = 0.5, .order = 3}, isolated_box(8), 2.0).value();
  const rotating_frame frame(2.0);
  const auto run = [&](const std::string& on) {
    return run_on(1, 2,
                  {"run.max_steps=2", "hydro.scheme=full3d", "frame.omega=2", "run.device=" + on,
                   "mesh.sides=[\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"zero_gradient\","
                   "\"outflow\",\"outflow\"]"},
                  [](simulation&) {}, nullptr, {gravity.get(), &frame});
  };
  const char* device = std::getenv("PLX_STAR_TEST_DEVICE");
  const outcome one = run("cpu");
  ASSERT_EQ(one.error, "");
  expect_same(run(device != nullptr ? device : "emulated"), one);
}

// With a regrid after step 2, and a checkpoint before or after it: from one worker to four, as on two alone.
TEST(Gravity, ARestartBesideARegridGivesTheSameBits) {
  const texts sets = blast_sets({"gravity.self=true", "gravity.constant=0.5", "gravity.order=3", "gravity.theta=0.5",
                                 "mesh.root_blocks=[1,1,1]", "run.max_steps=3", "run.t_end=1"});
  one_run whole("sedov", sets);
  whole.sim->start();
  std::vector<std::size_t> blocks{whole.sim->state().mesh.block_count()};
  while (!whole.sim->finished()) {
    ASSERT_TRUE(whole.sim->step());
    blocks.push_back(whole.sim->state().mesh.block_count());
  }
  EXPECT_NE(blocks[1], blocks[2]);
  const std::string path = "gravity-resume-" + std::to_string(getpid()) + ".h5";
  runtime single({.workers = 1}), four({.workers = 4});
  for (const int at : {1, 2}) {
    one_run a("sedov", sets, nullptr, single), b("sedov", sets, nullptr, four);
    a.sim->start();
    while (a.sim->steps() < at) ASSERT_TRUE(a.sim->step());
    ASSERT_NO_FATAL_FAILURE(continue_in(b, a, path));
    EXPECT_EQ(same_course(*whole.sim, *b.sim), "") << at;
    EXPECT_EQ(same_state(*whole.sim, *b.sim), "") << at;
  }
  std::remove(path.c_str());
}

std::unique_ptr<input> polytrope(std::vector<std::string> more) {
  std::vector<std::string> sets{"mesh.root_blocks=[4,4,4]",
                                "mesh.lower=[-2,-2,-2]",
                                "mesh.upper=[2,2,2]",
                                "gravity.self=true",
                                "gravity.order=3",
                                "gravity.theta=0.5",
                                "hydro.gamma=1.6666666666666667",
                                "run.t_end=1",
                                "polytrope.atmosphere=1e-6",
                                "polytrope.radius=1",
                                "refinement.gradient_of=[]"};
  sets.insert(sets.end(), more.begin(), more.end());
  auto in = input::from_text("[problem]\nname = \"polytrope\"\n", "t", sets);
  if (!in) ADD_FAILURE() << in.error().message;
  return *std::move(in);
}

double largest_density(const gas& g) {
  double largest = 0.0;
  for (const mesh::slot_id b : g.mesh.blocks())
    largest = std::max(largest, *std::max_element(g.now.block(b), g.now.block(b) + g.now.cells()));
  return largest;
}

// Gravity against pressure: 13 cells per radius, for half a free fall from the surface. Without either the centre would
// have half or twice the density. The potential energy is that of the exact star.
TEST(Gravity, AStarAtRestStaysAsItIs) {
  const auto in = polytrope({"polytrope.radius=1.6"});
  const setup s = in->prepare().value();
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  sim.start();
  const double before = largest_density(sim.state());
  while (!sim.finished()) ASSERT_TRUE(sim.step());
  EXPECT_NEAR(largest_density(sim.state()), before, 0.05 * before);
  const double exact = in->problem->references(0.0)[1].value;
  EXPECT_NEAR(sim.totals().back(), exact, 0.02 * -exact);
  EXPECT_EQ(sim.floors().density, 0);
}

// A star that moves obliquely through refinement boundaries: momentum and mass, with what has left the domain, are
// constant to rounding, and the star arrives where it should.
TEST(Gravity, AMovingStarKeepsMomentum) {
  const auto in = polytrope({"mesh.max_level=1", "refinement.regions=[-1,1,-1,1,-2,0,1]", "polytrope.radius=0.8",
                             "polytrope.velocity=[0.8,0.6,1]", "run.t_end=0.2"});
  const setup s = in->prepare().value();
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  sim.start();
  const std::vector<double> before = sim.totals();
  while (!sim.finished()) ASSERT_TRUE(sim.step());
  const std::vector<double> after = sim.totals();
  for (int v = 0; v < 4; ++v) EXPECT_NEAR(after[v] + sim.left(v), before[v], 2e-13);
  double centre[3] = {};
  const gas& g = sim.state();
  const int n = g.mesh.block_size();
  for (const mesh::slot_id b : g.mesh.blocks())
    for (int c = 0; c < g.now.cells(); ++c) {
      const int i[3] = {c % n, c / n % n, c / (n * n)};
      for (int a = 0; a < 3; ++a)
        centre[a] += g.now.block(b)[c] * std::pow(g.mesh.cell_width(b), 3) * g.mesh.centre(b, a, i[a]) / after[0];
    }
  EXPECT_NEAR(centre[0], 0.8 * sim.time(), 2e-3);
  EXPECT_NEAR(centre[1], 0.6 * sim.time(), 2e-3);
  EXPECT_NEAR(centre[2], 1.0 * sim.time(), 2e-3);
}

// A star that has moved by whole cells is the star at rest, shifted by them: profile, kinetic energy in its own frame,
// and potential energy, to the errors of advection.
TEST(Gravity, AMovingStarIsTheStarAtRest) {
  const std::array<int, 3> shift{2, 1, -2};  // in cells of 1/8 within a time of 0.2
  const auto run = [](const char* velocity) {
    const auto in = polytrope({"polytrope.radius=1", std::string("polytrope.velocity=") + velocity, "run.t_end=0.2",
                               "polytrope.atmosphere=1e-4", "mesh.max_level=0"});
    const setup s = in->prepare().value();
    runtime rt({.workers = 2});
    simulation sim(*in, s, rt);
    sim.start();
    const double before = largest_density(sim.state());
    while (!sim.finished()) EXPECT_TRUE(sim.step());
    // Density of the cells of the whole domain, [z][y][x].
    const gas& g = sim.state();
    const int n = g.mesh.block_size(), edge = 32;
    std::vector<double> all(static_cast<std::size_t>(edge) * edge * edge);
    for (const mesh::slot_id b : g.mesh.blocks()) {
      const mesh::location& l = g.mesh.where(b);
      for (int c = 0; c < g.now.cells(); ++c)
        all[static_cast<std::size_t>(((l.x[2] * n + c / (n * n)) * edge + l.x[1] * n + c / n % n) * edge + l.x[0] * n +
                                     c % n)] = g.now.block(b)[c];
    }
    struct {
      std::vector<double> density;
      double potential, before, after;
    } r{all, sim.totals().back(), before, largest_density(g)};
    return r;
  };
  const auto rest = run("[0,0,0]"), moved = run("[1.25,0.625,-1.25]");
  double miss = 0.0, unmoved = 0.0, sum = 0.0;
  for (int k = 4; k < 28; ++k)
    for (int j = 4; j < 28; ++j)
      for (int i = 4; i < 28; ++i) {
        const auto at = [](const auto& of, int x, int y, int z) {
          return of.density[static_cast<std::size_t>((z * 32 + y) * 32 + x)];
        };
        const double there = at(moved, i + shift[0], j + shift[1], k + shift[2]);
        miss += std::abs(there - at(rest, i, j, k));
        unmoved += std::abs(at(moved, i, j, k) - at(rest, i, j, k));
        sum += at(rest, i, j, k);
      }
  std::printf("moved by (2, 1, -2) cells: density off by %.2e (unmoved: %.2e), potential energy by %.1e, centre %.1e\n",
              miss / sum, unmoved / sum, moved.potential / rest.potential - 1.0, moved.after / rest.after - 1.0);
  EXPECT_LT(miss, 0.04 * sum);
  EXPECT_NEAR(moved.potential, rest.potential, 6e-3 * -rest.potential);
  EXPECT_NEAR(moved.after, rest.after, 0.04 * rest.after);
}

// In each step the sum of the energy of the gas, the potential energy and what has left changes by rounding only; a
// regrid in between changes the potential energy. A star moves obliquely through refinement boundaries, and gas leaves.
void expect_constant_energy(const std::vector<std::string>& more) {
  std::vector<std::string> sets{"mesh.root_blocks=[2,2,2]",
                                "mesh.max_level=2",
                                "refinement.interval=2",
                                "refinement.coarsen_after=1",
                                "refinement.buffer=0",
                                "refinement.gradient_of=[\"rho\"]",
                                "polytrope.radius=0.8",
                                "polytrope.velocity=[3.4,2.3,-2.2]",
                                "polytrope.centre=[-1.1,0.1,0.2]",
                                "polytrope.atmosphere=1e-4",
                                "run.max_steps=4",
                                "gravity.theta=0.5",
                                "gravity.order=3"};
  sets.insert(sets.end(), more.begin(), more.end());
  const auto in = polytrope(sets);
  const setup s = in->prepare().value();
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  ASSERT_TRUE(sim.take_device(nullptr));
  sim.start();
  double energy = sim.totals()[4], left = sim.left(4), potential = 0.0;
  int changes = 0;
  while (!sim.finished()) {
    ASSERT_TRUE(sim.step());
    const std::vector<double> after = sim.totals();
    const double end = after[after.size() - 1], start = after[after.size() - 2];
    EXPECT_NEAR(after[4] + end + sim.left(4), energy + start + left, 1e-13 * std::abs(end)) << "step " << sim.steps();
    if (sim.steps() > 1 && start != potential) ++changes;
    energy = after[4], left = sim.left(4), potential = end;
  }
  EXPECT_GT(changes, 0) << "regrids";
  EXPECT_NE(left, 0.0);
  EXPECT_EQ(sim.floors().density, 0);
}

TEST(Gravity, TheTotalEnergyIsConserved) {
  expect_constant_energy({});
  expect_constant_energy({"hydro.reconstruction=plm", "hydro.integrator=rk2"});
  expect_constant_energy({"hydro.scheme=full3d", "run.max_steps=3"});
  expect_constant_energy({"frame.omega=0.7",
                          "mesh.sides=[\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"zero_gradient\","
                          "\"outflow\",\"outflow\"]",
                          "run.max_steps=3"});
}

TEST(Gravity, AClosedDomainIsRefused) {
  const auto in = blast(
      {"gravity.self=true", "mesh.sides=[\"outflow\",\"outflow\",\"outflow\",\"reflecting\",\"outflow\",\"outflow\"]"});
  EXPECT_EQ(in->prepare().error().message,
            "gravity.self = true: expected periodic boundaries along all axes, or those of an isolated domain, such as "
            "\"outflow\", found \"reflecting\" in mesh.sides[3]");
}

}  // namespace
}  // namespace plx::star
