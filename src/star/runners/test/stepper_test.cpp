#include "star/runners/stepper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "rt/runtime.hpp"
#include "star/refine/regrid.hpp"
#include "star/state/gas.hpp"

namespace plx::star {
namespace {

// A blast on two levels in a small box.
struct Stepper : testing::Test {
  Stepper() {
    in = input::from_text("[problem]\nname = \"sedov\"\n", "t",
                          {"mesh.root_blocks=[2,2,2]", "mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]",
                           "mesh.max_level=1", "sedov.centre=[0.2,0.2,0.2]"})
             .value();
    s = in->prepare().value();
    g = std::make_unique<gas>(s);
    step = std::make_unique<stepper>(*g, s, 2);
    rt.run([&] { build_initial(*g, s, in->refinement, *in->problem, step->scratch()); });
    step->adopt_mesh();
  }

  runtime rt{{.workers = 2}};
  std::unique_ptr<input> in;
  setup s;
  std::unique_ptr<gas> g;
  std::unique_ptr<stepper> step;
};

TEST_F(Stepper, AStepKeepsTotals) {
  ASSERT_EQ(g->mesh.deepest(), 1);
  ASSERT_LT(g->mesh.block_count(), 64u);  // both levels
  const std::vector<double> before = rt.run([&] { return totals(*g, 2); });
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(rt.run([&] { return step->advance(s.cfl / g->largest_signal_rate(), 0.0).has_value(); }));
  const std::vector<double> after = rt.run([&] { return totals(*g, 2); });
  EXPECT_NEAR(after[i_density] + step->left().total(i_density), before[i_density], 1e-14);
  EXPECT_NEAR(after[i_energy] + step->left().total(i_energy), before[i_energy], 1e-14);
  EXPECT_NE(after[i_tracer], before[i_tracer]);  // the state has changed
}

TEST_F(Stepper, AFailedStepLeavesTheStateAndNamesTheCell) {
  const mesh::slot_id block = g->mesh.blocks()[3];
  g->now.block(block)[i_energy * 512 + 77] = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> before(g->now.base(), g->now.base() + g->now.slots() * g->now.stride());
  const auto bad = rt.run([&] { return step->advance(1e-6, 0.0); });
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->stage, 0);
  const double* now = g->now.base();
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_TRUE(before[i] == now[i] || std::isnan(before[i])) << i;
}

// This scheme reads ghost cells beyond edges. Two fine blocks beside a coarser one have the same cell there in
// different boxes, one of which cuts families of fine cells; their common face has one flux only if its values are
// equal. A body at Mach 20 with noise of a factor of ten in density: prolongation is limited in many cells.
TEST(Full3d, ConservesMassAndEnergyWhereProlongationIsLimited) {
  for (const std::string rule : {"minmod", "central"}) {
    auto in = input::from_text(
        "[problem]\nname = \"moving_body\"\n", "t",
        {"hydro.scheme=full3d", "mesh.root_blocks=[2,2,2]", "mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]",
         R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])", "mesh.max_level=1",
         "mesh.prolongation=" + rule, "refinement.gradient_of=[]", "refinement.regions=[0.01,0.49,-0.5,0.5,-0.5,0.5,1]",
         "moving_body.profile=star", "moving_body.mach=20", "moving_body.contrast=100", "moving_body.radius=0.2",
         "moving_body.direction=[1,2,-1]"});
    ASSERT_TRUE(in) << in.error().message;
    const setup s = in.value()->prepare().value();
    gas g(s);
    stepper step(g, s, 2);
    runtime rt({.workers = 2});
    rt.run([&] { build_initial(g, s, in.value()->refinement, *in.value()->problem, step.scratch()); });
    step.adopt_mesh();
    ASSERT_EQ(g.mesh.block_count(), 36u);  // half of the box is refined
    std::mt19937_64 rng(5);
    std::uniform_real_distribution<double> any(-1.0, 1.0);
    const std::ptrdiff_t cells = g.now.cells();
    for (const mesh::slot_id slot : g.own())
      for (double *u = g.now.block(slot), *end = u + cells; u != end; ++u) {
        const double factor = std::pow(10.0, 0.5 + 0.5 * any(rng));
        double kinetic = 0.0;
        for (int m = i_momentum; m < i_energy; ++m) {
          kinetic -= 0.5 * u[m * cells] * u[m * cells] / u[0];
          u[m * cells] *= factor * (1.0 + 0.3 * any(rng));
          kinetic += 0.5 * u[m * cells] * u[m * cells] / (factor * u[0]);
        }
        u[0] *= factor, u[i_energy * cells] += kinetic;
      }
    const std::vector<double> before = rt.run([&] { return totals(g, 2); });
    for (int i = 0; i < 2; ++i)
      ASSERT_FALSE(rt.run([&] { return step.advance(0.2 * s.cfl / g.largest_signal_rate(), 0.0).has_value(); }));
    const std::vector<double> after = rt.run([&] { return totals(g, 2); });
    EXPECT_EQ(step.floors().density + step.floors().pressure, 0u);
    EXPECT_NEAR(after[i_density] / before[i_density], 1.0, 1e-12) << rule;
    EXPECT_NEAR(after[i_energy] / before[i_energy], 1.0, 1e-12) << rule;
  }
}

TEST(Totals, AreExactWhereTermsCancel) {
  auto in = input::from_text("[problem]\nname = \"sedov\"\n", "t",
                             {"mesh.root_blocks=[2,2,2]", "sedov.centre=[0.5,0.5,0.5]"});
  ASSERT_TRUE(in) << in.error().message;
  const setup s = in.value()->prepare().value();
  gas g(s);
  std::fill_n(g.now.base(), g.now.slots() * g.now.stride(), 0.0);  // a new arena is not initialized
  // Momenta of 1e16 and -1e16 in two blocks, and 1 in a third: the sum is 1 cell's volume.
  g.now.block(0)[512] = 1e16;
  g.now.block(5)[512 + 9] = -1e16;
  g.now.block(7)[512 + 100] = 1.0;
  runtime rt({.workers = 2});
  EXPECT_EQ(rt.run([&] { return totals(g, 2); })[i_momentum], std::pow(1.0 / 16, 3));
}

}  // namespace
}  // namespace plx::star
