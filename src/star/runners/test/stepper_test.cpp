#include "star/runners/stepper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "rt/runtime.hpp"
#include "star/refine/regrid.hpp"
#include "star/state/totals.hpp"

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
