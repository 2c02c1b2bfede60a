// Self-gravity in periodic boxes: against Ewald's sums and exact solutions, conservation, and the same bits on any
// processors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>

#include "star/gravity/test/ewald_sum.hpp"
#include "star/problems/test/error_norms.hpp"
#include "star/test/course_test.hpp"
#include "star/test/gravity_recording.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {
namespace in_periodic_boxes {

using namespace test;
using gravity::compare_with_ewald_sums;
using gravity::gravity_errors;
using gravity::gravity_point;

constexpr double pi = std::numbers::pi;
const std::string periodic = R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])";

/// Options of a mesh, and the box that they give.
struct grid {
  texts sets;
  mesh::domain box;
  std::array<double, 3> edges;

  explicit grid(const texts& more)
      : sets(with({periodic, "refinement.gradient_of=[]"}, more)), box(blast(sets)->prepare().value().domain) {
    for (std::size_t a = 0; a < 3; ++a) edges[a] = box.upper[a] - box.lower[a];
  }
};

// Three levels; fine cells touch the boundary, and are beside coarse ones through it.
grid refined() {
  return grid({"mesh.root_blocks=[1,1,1]", "mesh.max_level=2", "mesh.lower=[-0.4,-0.5,-0.6]",
               "mesh.upper=[0.6,0.5,0.4]", "refinement.regions=[0.5,0.6,-0.2,0.1,0.02,0.2,2]"});
}

struct solution {
  std::vector<gravity_point> points, as_summed;
};
template <class Density>
solution solve(const grid& g, gravity::gravity_options o, Density&& density) {
  solution s;
  o.self = true;
  if (o.constant == 0.0) o.constant = 1.0;
  recording module(o, g.box);
  step_once(g.sets, module, density, s.points, &s.as_summed);
  return s;
}

// Masses of all sizes, and few heavy cells among light ones, whose fields are those of points.
TEST(PeriodicGravity, RandomMassesHaveTheForcesOfEwaldsSums) {
  const grid oblong({"mesh.root_blocks=[4,2,1]", "mesh.lower=[-1,-0.5,-0.25]", "mesh.upper=[1,0.5,0.25]",
                     "mesh.max_level=1", "refinement.regions=[0.9,1,0.1,0.2,0.05,0.15,1]"});
  const grid one({"mesh.root_blocks=[1,1,1]", "mesh.max_level=0"});
  const grid of_threes({"mesh.root_blocks=[1,1,1]", "mesh.max_level=0", "mesh.block_size=24"});
  for (const grid& g : {refined(), oblong, one, of_threes})
    for (const bool few : {false, true}) {
      std::mt19937_64 random(few ? 5 : 4);
      std::uniform_real_distribution<double> uniform(0.0, 1.0);
      const solution s = solve(g, {.constant = 0.5}, [&](const double*) {
        const double u = uniform(random);
        return few ? (u < 0.01 ? 1.0 : 1e-6) : u;
      });
      const std::size_t samples = s.points.size() > 12000 ? 30 : 100;
      const gravity_errors e = compare_with_ewald_sums(s.as_summed, 0.5, g.edges, samples);
      gravity_errors all{};
      add_up(s.points, all);
      std::printf("%zu cells, %s: median %.2e, 99 %% %.2e, potential %.2e; sums %.1e, pairs %.1e\n", s.points.size(),
                  few ? "few heavy" : "uniform", e.median, e.most, e.potential, all.momentum, e.momentum);
      EXPECT_LT(e.median, few ? 3e-3 : 2e-3);
      EXPECT_LT(e.most, few ? 2e-2 : 1.2e-2);
      EXPECT_LT(e.potential, 4e-3);
      EXPECT_LT(all.momentum, 1e-14);
      EXPECT_LT(e.momentum, 2e-14);
      // The correction of the total force is below the errors.
      double size = 0.0, change = 0.0;
      for (std::size_t i = 0; i < s.points.size(); ++i)
        for (int a = 0; a < 3; ++a) {
          size = std::max(size, std::abs(s.points[i].acceleration[a]));
          change = std::max(change, std::abs(s.points[i].acceleration[a] - s.as_summed[i].acceleration[a]));
        }
      EXPECT_LT(change, 1e-3 * size);
    }
}

// Smaller theta and higher orders are more exact.
TEST(PeriodicGravity, ErrorsFallWithOrderAndTheta) {
  double last = 1.0;
  for (const auto& [theta, order] : {std::pair{0.5, 3}, {0.5, 4}, {0.35, 4}, {0.35, 6}, {0.25, 6}}) {
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const grid g = refined();
    const solution s =
        solve(g, {.theta = theta, .order = order}, [&](const double*) { return std::pow(uniform(random), 8); });
    const gravity_errors e = compare_with_ewald_sums(s.as_summed, 1.0, g.edges);
    std::printf("theta %.2f, order %d: median %.2e, 99 %% %.2e, potential %.2e; pairs %.1e\n", theta, order, e.median,
                e.most, e.potential, e.momentum);
    EXPECT_LT(e.median, last);
    last = e.median;
  }
  EXPECT_LT(last, 1e-4);
}

// The mean density attracts nothing: the field of a uniform gas is rounding.
TEST(PeriodicGravity, AUniformGasHasNoField) {
  const solution s = solve(refined(), {}, [](const double*) { return 3.0; });
  for (const gravity_point& p : s.points) {
    EXPECT_NEAR(p.potential, 0.0, 1e-13);
    for (const double a : p.acceleration) EXPECT_NEAR(a, 0.0, 1e-13);
  }
}

// rho = 1 + cos(k x) has phi = -4 pi G cos(k x) / k^2. Returns the largest errors of the potential and of the
// acceleration, relative to their largest values.
struct wave_errors {
  double potential = 0.0, acceleration = 0.0;
};
wave_errors errors_of_wave(const grid& g, const std::array<int, 3>& turns, const gravity::gravity_options& o) {
  double k[3], k2 = 0.0;
  for (std::size_t a = 0; a < 3; ++a) k[a] = 2.0 * pi * turns[a] / g.edges[a], k2 += k[a] * k[a];
  const auto phase = [&](const double* x) { return k[0] * x[0] + k[1] * x[1] + k[2] * x[2]; };
  const solution s = solve(g, o, [&](const double* x) { return 1.0 + std::cos(phase(x)); });
  const double size = 4.0 * pi * 2.0 / k2;
  wave_errors e;
  for (const gravity_point& p : s.points) {
    e.potential = std::max(e.potential, std::abs(p.potential / size + std::cos(phase(p.x))));
    for (int a = 0; a < 3; ++a)
      e.acceleration =
          std::max(e.acceleration, std::abs(p.acceleration[a] / size + k[a] * std::sin(phase(p.x))) / std::sqrt(k2));
  }
  return e;
}

// The method is of second order until the errors of the expansions remain: a quarter with half the width of cells.
TEST(PeriodicGravity, ASineWaveHasItsPotential) {
  for (const std::array<int, 3> turns : {std::array{1, 0, 0}, {1, 1, 0}, {1, -1, 1}}) {
    wave_errors last;
    for (const int roots : {1, 2, 4}) {
      const std::string r = std::to_string(roots);
      const grid g({"mesh.root_blocks=[" + r + "," + r + "," + r + "]", "mesh.max_level=0"});
      const wave_errors e = errors_of_wave(g, turns, {.constant = 2.0});
      std::printf("[%d %d %d], %d cells: potential %.2e, acceleration %.2e\n", turns[0], turns[1], turns[2], 8 * roots,
                  e.potential, e.acceleration);
      if (roots > 1) {
        EXPECT_NEAR(last.potential / e.potential, 4.0, 0.5);
        EXPECT_NEAR(last.acceleration / e.acceleration, 4.0, 0.8);
      }
      last = e;
    }
    EXPECT_LT(last.potential, 1e-2);
  }
  const wave_errors e = errors_of_wave(refined(), {1, 1, 0}, {.constant = 2.0});
  std::printf("refined: potential %.2e, acceleration %.2e\n", e.potential, e.acceleration);
  EXPECT_LT(e.potential, 0.05);
}

TEST(PeriodicGravity, TheBitsAreTheSameOnWorkersLocalitiesAndADevice) {
  const texts sets{periodic,          "gravity.self=true", "gravity.constant=0.5",
                   "gravity.order=3", "gravity.theta=0.5", "run.max_steps=3"};  // with a regrid after step 2
  const auto run = [&](unsigned n, unsigned workers, const texts& more) {
    return run_on(n, workers, with(sets, more));
  };
  const outcome one = run(1, 2, {});
  ASSERT_EQ(one.error, "");
  ASSERT_GT(one.blocks.size(), 64u);
  expect_same(run(1, 1, {}), one);
  expect_same(run(4, 2, {}), one);
  for (const unsigned n : {1u, 2u})
    if (n == 2 || tested() != "emulated") expect_same(run(n, 2, on_device({})), one);
}

// The cells of the top are no cube of 4^3: 4 x 2 x 1, and 6 x 3 x 3 from blocks of 24^3 cells.
TEST(PeriodicGravity, TheBitsAreTheSameOnADeviceWithOtherTops) {
  const texts step{periodic,
                   "gravity.self=true",
                   "gravity.constant=0.5",
                   "gravity.order=3",
                   "gravity.theta=0.5",
                   "run.max_steps=1",
                   "refinement.gradient_of=[]",
                   "sedov.centre=[0.11,-0.07,0.05]"},
      oblong{"mesh.root_blocks=[4,2,1]", "mesh.lower=[-1,-0.5,-0.25]", "mesh.upper=[1,0.5,0.25]", "mesh.max_level=1",
             "refinement.regions=[0.9,1,0.1,0.2,0.05,0.15,1]"},
      of_threes{"mesh.root_blocks=[2,1,1]", "mesh.lower=[-0.5,-0.25,-0.25]", "mesh.upper=[0.5,0.25,0.25]",
                "mesh.max_level=0", "mesh.block_size=24"};
  for (const texts& shape : {oblong, of_threes}) {
    const texts sets = with(step, shape);
    const outcome one = run_on(1, 2, sets);
    ASSERT_EQ(one.error, "");
    EXPECT_NE(one.totals, run_on(1, 2, with(sets, {"gravity.constant=0.4"})).totals);
    expect_same(run_on(2, 2, on_device(sets)), one);
  }
}

// With a regrid after step 2, and a checkpoint before or after it: from one worker to four, as on two alone.
TEST(PeriodicGravity, ARestartBesideARegridGivesTheSameBits) {
  const texts sets = blast_sets({periodic, "gravity.self=true", "gravity.constant=0.5", "gravity.order=3",
                                 "gravity.theta=0.5", "mesh.root_blocks=[1,1,1]", "run.max_steps=3", "run.t_end=1"});
  one_run whole("sedov", sets);
  whole.sim->start();
  std::vector<std::size_t> blocks{whole.sim->state().mesh.block_count()};
  while (!whole.sim->finished()) {
    ASSERT_TRUE(whole.sim->step());
    blocks.push_back(whole.sim->state().mesh.block_count());
  }
  EXPECT_NE(blocks[1], blocks[2]);
  const std::string path = "periodic-gravity-resume-" + std::to_string(getpid()) + ".h5";
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

// A star that moves obliquely through the boundaries and through refinement: mass, momentum, and the energy of the gas
// with that of gravity, apart from what regrids change, are constant to rounding.
TEST(PeriodicGravity, MassMomentumAndEnergyAreConserved) {
  for (const texts& more : {texts{},
                            {"hydro.reconstruction=plm", "hydro.integrator=rk2"},
                            {"hydro.spin=true", "run.max_steps=3"},
                            {"hydro.scheme=full3d", "run.max_steps=3"}}) {
    const texts sets{periodic,
                     "gravity.self=true",
                     "gravity.order=3",
                     "gravity.theta=0.5",
                     "hydro.gamma=1.6666666666666667",
                     "mesh.root_blocks=[2,2,2]",
                     "mesh.lower=[-2,-2,-2]",
                     "mesh.upper=[2,2,2]",
                     "mesh.max_level=2",
                     "refinement.interval=2",
                     "refinement.coarsen_after=1",
                     "refinement.buffer=0",
                     "refinement.gradient_of=[\"rho\"]",
                     "polytrope.radius=0.8",
                     "polytrope.velocity=[3.4,2.3,-2.2]",
                     "polytrope.centre=[1.1,0.1,0.2]",
                     "polytrope.atmosphere=1e-4",
                     "run.t_end=1",
                     "run.max_steps=4"};
    one_run run("polytrope", with(sets, more));
    run.sim->start();
    const std::vector<double> before = run.sim->totals();
    double energy = before[4], potential = 0.0;
    int changes = 0;
    while (!run.sim->finished()) {
      ASSERT_TRUE(run.sim->step());
      const std::vector<double> after = run.sim->totals();
      const double end = after[after.size() - 1], start = after[after.size() - 2];
      EXPECT_LT(end, 0.0);
      EXPECT_NEAR(after[4] + end, energy + start, 1e-13 * std::abs(end)) << "step " << run.sim->steps();
      if (run.sim->steps() > 1 && start != potential) ++changes;
      energy = after[4], potential = end;
      for (int v = 0; v < 4; ++v) EXPECT_NEAR(after[v], before[v], 2e-13) << v;
    }
    EXPECT_GT(changes, 0) << "regrids";
    EXPECT_EQ(run.sim->floors().density, 0);
  }
}

// Jeans' waves. The mean of (rho - 1) cos(k x) and (rho - 1) sin(k x) over the box, by cells.
struct amplitude {
  double real = 0.0, imaginary = 0.0;
};
amplitude amplitude_of(const simulation& sim, const std::array<int, 3>& turns) {
  const gas& g = sim.state();
  const int n = g.mesh.block_size();
  amplitude a;
  for (const mesh::slot_id b : g.mesh.blocks())
    for (int c = 0; c < g.now.cells(); ++c) {
      const int i[3] = {c % n, c / n % n, c / (n * n)};
      double phase = 0.0;
      for (int x = 0; x < 3; ++x) phase += 2.0 * pi * turns[static_cast<std::size_t>(x)] * g.mesh.centre(b, x, i[x]);
      const double mass = (g.now.block(b)[c] - 1.0) * std::pow(g.mesh.cell_width(b), 3);
      a.real += mass * std::cos(phase), a.imaginary += mass * std::sin(phase);
    }
  return a;
}

struct jeans_case {
  std::array<int, 3> turns;
  double constant;  // of gravity
  texts mesh;
  double most;  // error of 4 pi G rho / k^2 c^2
};

// k^2 c^2 - w^2 over k^2 c^2 as measured, and as it is known. Stable: by the phase after a fifth of a period; unstable:
// by the growth over 0.7 e-foldings.
struct dispersion {
  double found, known;
};
dispersion measure(const jeans_case& j) {
  const std::string turns =
      "[" + std::to_string(j.turns[0]) + "," + std::to_string(j.turns[1]) + "," + std::to_string(j.turns[2]) + "]";
  double k2 = 0.0;
  for (const int t : j.turns) k2 += 4.0 * pi * pi * t * t;
  const double square = k2 - 4.0 * pi * j.constant, rate = std::sqrt(std::abs(square));
  const double t_end = (square > 0.0 ? 0.4 * pi : 0.7) / rate;
  one_run run("jeans_wave", with({periodic, "gravity.self=true", "gravity.constant=" + std::to_string(j.constant),
                                  "jeans_wave.direction=" + turns, "jeans_wave.amplitude=1e-4",
                                  "jeans_wave.pressure=0.6", "hydro.gamma=1.6666666666666667",
                                  "refinement.gradient_of=[]", "run.t_end=" + std::to_string(t_end)},
                                 j.mesh));
  run.sim->start();
  const amplitude before = amplitude_of(*run.sim, j.turns);
  while (!run.sim->finished())
    if (const auto s = run.sim->step(); !s) {
      ADD_FAILURE() << s.error().message;
      return {};
    }
  const amplitude after = amplitude_of(*run.sim, j.turns);
  const double size = std::hypot(after.real, after.imaginary) / std::hypot(before.real, before.imaginary);
  const double turn = std::atan2(after.imaginary, after.real) - std::atan2(before.imaginary, before.real);
  const double found =
      square > 0.0 ? std::remainder(turn, 2.0 * pi) / run.sim->time() : std::log(size) / run.sim->time();
  const double found_square = square > 0.0 ? found * found : -found * found;
  EXPECT_EQ(run.sim->floors().density, 0);
  return {1.0 - found_square / k2, 4.0 * pi * j.constant / k2};
}

// w^2 = k^2 c^2 - 4 pi G rho with c = 1, rho = 1, along an axis and obliquely, on uniform meshes and with refined
// regions through which the wave runs.
TEST(PeriodicGravity, JeansWavesHaveTheirFrequenciesAndGrowthRates) {
  const texts coarse{"mesh.root_blocks=[2,2,2]", "mesh.max_level=0"},
      fine{"mesh.root_blocks=[4,4,4]", "mesh.max_level=0"},
      mixed{"mesh.root_blocks=[2,2,2]", "mesh.max_level=1", "refinement.regions=[0.3,0.5,-0.2,0.2,-0.2,0.2,1]"};
  for (const jeans_case& j : {jeans_case{{1, 0, 0}, 1.0, coarse, 0.02},
                              {{1, 0, 0}, 6.0, coarse, 0.02},
                              {{1, 1, 0}, 3.0, coarse, 0.05},
                              {{1, -1, 1}, 20.0, coarse, 0.05},
                              {{1, 0, 0}, 6.0, mixed, 0.02},
                              {{1, 1, 0}, 3.0, mixed, 0.05},
                              {{1, 1, 1}, 20.0, fine, 0.02}}) {
    const dispersion d = measure(j);
    std::printf("[%d %d %d], 4 pi G rho / k^2 c^2 = %.4f, found %.4f\n", j.turns[0], j.turns[1], j.turns[2], d.known,
                d.found);
    EXPECT_NEAR(d.found, d.known, j.most);
  }
}

TEST(PeriodicGravity, BoxesThatAreRefusedAreNamed) {
  const auto error_of = [](const texts& sets) {
    const auto s = blast(with({"gravity.self=true"}, sets))->prepare();
    return s ? "" : s.error().message;
  };
  EXPECT_EQ(
      error_of({R"(mesh.sides=["periodic","periodic","outflow","outflow","outflow","outflow"])"}),
      "gravity.self = true: expected periodic boundaries along all axes or along none, found mesh.sides[0] periodic "
      "and mesh.sides[2] not periodic");
  EXPECT_EQ(
      error_of({periodic, "mesh.root_blocks=[3,3,3]"}),
      "mesh.root_blocks: self-gravity in a periodic box: expected powers of two, found 3, 3, 3; mesh.block_size = 24 "
      "gives grids of 3 x 2^n cells, 40 of 5 x 2^n");
  EXPECT_EQ(
      error_of({periodic, "diagnostics.stars=2"}),
      "diagnostics.stars = 2: expected boundaries of an isolated domain, found periodic ones: stars would have no "
      "single place, distance or orbit");
  EXPECT_EQ(
      error_of({periodic, "gravity.point_mass=1", "gravity.point_mass_softening=0.1"}),
      "gravity.point_mass = 1: expected boundaries of an isolated domain with gravity.self = true, found periodic "
      "ones: the images of the gas attract it, those of the point mass do not");
}

}  // namespace in_periodic_boxes
}  // namespace
}  // namespace plx::star
