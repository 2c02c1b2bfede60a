// Runs whose mesh follows mass, Jeans length, potential, species and a limit of the number of blocks: the same bits on
// workers, devices, localities and after a restart; a moving body stays refined.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/log.hpp"
#include "star/runners/gravity_field.hpp"
#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

const std::string periodic = R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])";

// A body of density 1 in gas of density 1/8. Cells of level 0 have a volume of 3.05e-5.
const texts body{"problem.name=moving_body",
                 "mesh.root_blocks=[4,2,2]",
                 "mesh.lower=[-0.5,-0.25,-0.25]",
                 "mesh.upper=[0.5,0.25,0.25]",
                 "mesh.max_level=1",
                 periodic,
                 "moving_body.profile=contact",
                 "moving_body.contrast=8",
                 "moving_body.mach=5",
                 "moving_body.radius=0.08",
                 "moving_body.centre=[-0.16,0.02,-0.03]",
                 "moving_body.direction=[1,0.1,0.05]",
                 "refinement.gradient_of=[]",
                 "refinement.interval=2",
                 "refinement.coarsen_after=2",
                 "run.t_end=1",
                 "run.max_steps=8"};
const texts by_mass{"refinement.cell_mass=1.5e-5"};
// The Jeans length is 0.177 in the body and 1.4 around it; 8 cells of level 0 are 0.25.
const texts by_jeans{"refinement.jeans_cells=8", "gravity.constant=100"};
const texts by_species{"problem.name=advection",
                       "refinement.gradient_of=[]",
                       periodic,
                       "refinement.species=[0,0.01,1,1,0.1,0.9]",
                       "run.t_end=1",
                       "run.max_steps=4",
                       "mesh.max_level=1"};
// A body in thin gas that attracts itself: -phi is 0.04 in its centre and 0.027 at its surface, with cells of 0.08
// radii.
const texts by_depth{"moving_body.contrast=100",
                     "gravity.self=true",
                     "gravity.constant=1",
                     "gravity.order=3",
                     "gravity.theta=0.5",
                     R"(mesh.sides=["outflow","outflow","outflow","outflow","outflow","outflow"])",
                     "refinement.potential_levels=[0.02]"};
const texts limited{"refinement.max_blocks=80"};  // of a blast that asks for more

class without_problem {
 public:
  explicit without_problem(const texts& sets) {
    for (const std::string& s : sets)
      if (s.starts_with("problem.name="))
        name = s.substr(13);
      else
        rest.push_back(s);
  }
  std::string name = "sedov";
  texts rest;
};

/// The level of the mesh of `body` near the path of its centre.
int level_at(const simulation& sim, double x) {
  const mesh::block_mesh& m = sim.state().mesh;
  const auto along = [](double y) { return static_cast<std::int32_t>(std::floor(y / 0.125)); };
  return m.level(m.find_covering({1, {along(x + 0.5), along(0.27), along(0.22)}}));
}

TEST(RefinementCourse, AMovingBodyStaysRefined) {
  // The largest density of blocks of level 0: the limit of the mass, or of c^2 / rho = 1 / rho^2.
  for (const auto& [criterion, limit] : {std::pair{by_mass, 0.492}, {by_jeans, 0.709}}) {
    const without_problem sets(
        with(with(body, criterion), {"moving_body.centre=[-0.2,0.02,-0.03]", "run.t_end=0.06", "run.max_steps=0"}));
    one_run run(sets.name, sets.rest);
    simulation& sim = *run.sim;
    sim.start();
    EXPECT_EQ(level_at(sim, -0.3), 1);
    EXPECT_EQ(level_at(sim, 0.1), 0);
    const std::size_t blocks = sim.state().mesh.block_count();
    std::size_t most = blocks;
    while (!sim.finished()) {
      ASSERT_TRUE(sim.step());
      const gas& g = sim.state();
      most = std::max(most, g.mesh.block_count());
      for (const mesh::slot_id s : g.mesh.blocks())
        if (g.mesh.level(s) == 0) {
          const double largest = *std::max_element(g.now.block(s), g.now.block(s) + g.now.cells());
          ASSERT_LT(largest, limit) << sim.steps();
        }
    }
    EXPECT_EQ(level_at(sim, -0.3), 0);
    EXPECT_EQ(level_at(sim, 0.1), 1);
    std::printf("%zu blocks at first, %zu at most, %lld steps\n", blocks, most, static_cast<long long>(sim.steps()));
    EXPECT_LT(most, 16u + 7u * 12u);  // the blocks around the body, not those behind it
  }
}

// After each check, blocks of level 0 are above the limit, and each family of blocks of level 1 has a cell below it, in
// the potential on the new mesh, which differs by its truncation error.
TEST(RefinementCourse, TheMeshFollowsTheDepthOfThePotential) {
  const without_problem sets(with(with(body, by_depth), {"moving_body.centre=[-0.2,0.02,-0.03]", "refinement.buffer=0",
                                                         "refinement.coarsen_after=1", "refinement.interval=2",
                                                         "run.t_end=0.06", "run.max_steps=0"}));
  one_run run(sets.name, sets.rest);
  simulation& sim = *run.sim;
  const auto check = [&sim] {
    const gravity_field& field = sim.gravity();
    const mesh::block_mesh& m = sim.state().mesh;
    std::map<std::array<std::int32_t, 3>, double> families;  // the lowest potential of each
    for (const mesh::slot_id s : m.blocks()) {
      const double least = *std::min_element(field.values(s), field.values(s) + sim.state().now.cells());
      if (m.level(s) == 0)
        EXPECT_GT(least, -0.02 * 1.01) << sim.steps();
      else if (double& of_family = families[{m.where(s).x[0] / 2, m.where(s).x[1] / 2, m.where(s).x[2] / 2}])
        of_family = std::min(of_family, least);
      else
        of_family = least;
    }
    for (const auto& [where, least] : families) EXPECT_LT(least, -0.02 * 0.99) << sim.steps();
  };
  sim.start();
  EXPECT_EQ(level_at(sim, -0.2), 1);
  EXPECT_EQ(level_at(sim, 0.1), 0);
  check();
  while (!sim.finished()) {
    ASSERT_TRUE(sim.step());
    if (sim.steps() % 2 == 0) check();
  }
  EXPECT_EQ(level_at(sim, -0.3), 0);
  EXPECT_EQ(level_at(sim, 0.1), 1);
}

TEST(RefinementCourse, TheBitsAreTheSameOnWorkersAndLocalities) {
  for (const texts& sets : {with(with(body, by_mass), by_jeans), by_species, limited, with(body, by_depth)}) {
    const outcome one = run_on(1, 2, sets);
    ASSERT_EQ(one.error, "");
    std::printf("%zu blocks\n", one.blocks.size());
    ASSERT_GT(one.blocks.size(), 20u);
    expect_same(run_on(1, 4, sets), one);
    for (const unsigned n : {2u, 3u, 4u}) expect_same(run_on(n, 1, sets), one);
  }
}

TEST(RefinementCourse, TheBitsAreTheSameOnADevice) {
  const without_problem both(with(with(body, by_mass), by_jeans));
  compare(both.name, with(both.rest, {"refinement.coarsen_after=1"}), {}, 1);
  for (const texts& sets :
       {with(limited, {"run.max_steps=4"}), by_species, with(with(body, by_depth), {"run.max_steps=4"})}) {
    const outcome one = run_on(1, 2, sets);
    for (const unsigned n : {1u, 2u}) expect_same(run_on(n, 1, on_device(sets)), one);
  }
}

TEST(RefinementCourse, ARunStaysWithinTheLimitOfBlocksAndSaysSo) {
  std::vector<std::string> lines;
  log_to_function([](void* all, log_level,
                     std::string_view line) { static_cast<std::vector<std::string>*>(all)->emplace_back(line); },
                  &lines, log_level::warning);
  const auto in = blast(limited);
  const setup s = in->prepare().value();
  simulation sim(*in, s, workers());
  sim.start();
  std::size_t most = 0;
  while (!sim.finished()) {
    most = std::max(most, sim.state().mesh.block_count());
    ASSERT_TRUE(sim.step());
  }
  log_to_function(nullptr, nullptr, log_level::none);
  EXPECT_LE(most, 80u);
  EXPECT_GT(most, 60u);
  EXPECT_GT(run_on(1, 2, {"run.max_steps=1"}).blocks.size(), 80u);  // without the limit
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("the refinement criteria request more than refinement.max_blocks = 80"), std::string::npos)
      << lines[0];
}

TEST(RefinementCourse, ARestartContinuesWithTheSameBits) {
  const std::string path = "refinement-resume-" + std::to_string(getpid()) + ".h5";
  const without_problem both(with(with(body, by_mass), by_jeans)), few(blast_sets(limited)), deep(with(body, by_depth));
  for (const auto& [name, sets] : {std::pair{both.name, both.rest}, {few.name, few.rest}, {deep.name, deep.rest}}) {
    one_run whole(name, sets), a(name, sets), b(name, sets);
    whole.sim->start();
    while (!whole.sim->finished()) ASSERT_TRUE(whole.sim->step());
    a.sim->start();
    while (a.sim->steps() < 5) ASSERT_TRUE(a.sim->step());
    ASSERT_NO_FATAL_FAILURE(continue_in(b, a, path));
    EXPECT_EQ(same_course(*whole.sim, *b.sim), "") << name;
    EXPECT_EQ(same_state(*whole.sim, *b.sim), "") << name;
    EXPECT_EQ(whole.sim->numbers(), b.sim->numbers());
  }
  std::remove(path.c_str());
}

TEST(RefinementCourse, WrongInputIsRefusedInOneLine) {
  EXPECT_EQ(
      complaint_about({"refinement.jeans_cells=4"}),
      "refinement.jeans_cells = 4: expected a gravitational constant, found none; set gravity.constant, [units] or "
      "gravity.self");
  EXPECT_EQ(complaint_about({"refinement.jeans_cells=4", "gravity.constant=1"}), "");
  EXPECT_EQ(complaint_about({"refinement.species=[0,0.1,0.9]"}),
            "refinement.species, range 0: expected the number of one of 0 species, from 0 on, found 0");
  EXPECT_EQ(
      complaint_about({"sod.species=true", "refinement.species=[0,0.1,0.9,1,0.9,0.9]"}),
      "refinement.species, range 1: expected lower < upper from 0 to 1, but not all of it, found 0.9 and 0.9; the "
      "order is number, lower, upper");
  EXPECT_EQ(complaint_about({"sod.species=true", "refinement.species=[0,0.1]"}),
            "refinement.species: expected three numbers per range (number, lower, upper), found 2 numbers");
  EXPECT_EQ(complaint_about({"mesh.root_blocks=[2,2,2]", "refinement.max_blocks=7"}),
            "refinement.max_blocks = 7: expected at least the 8 blocks of the root grid, or 0 for no limit");
  EXPECT_EQ(
      complaint_about({"refinement.max_blocks=70", "refinement.density_levels=[0,1]"}),
      "refinement.density_levels: expected positive densities with refinement.max_blocks, which weakens them by a "
      "factor, found 0; refinement.regions refines all cells of a box");
  EXPECT_EQ(complaint_about({"refinement.potential_levels=[1]"}),
            "refinement.potential_levels: expected gravity.self = true, whose potential it limits, found false");
  EXPECT_EQ(complaint_about({"refinement.max_blocks=70", "refinement.potential_levels=[0]", "gravity.self=true"}),
            "refinement.potential_levels: expected positive depths with refinement.max_blocks, which weakens them by a "
            "factor, found 0; refinement.regions refines all cells of a box");
}

}  // namespace
}  // namespace plx::star
