#include "star/refine/refinement.hpp"

#include <gtest/gtest.h>

#include "rt/runtime.hpp"
#include "star/refine/regrid.hpp"

namespace plx::star {
namespace {

class Refinement : public testing::Test {
 protected:
  // A box of 4^3 blocks of 8^3 cells with edge 4, periodic, gas at rest.
  explicit Refinement(const std::vector<std::string>& sets = {}) {
    std::vector<std::string> all{"mesh.root_blocks=[4,4,4]", "mesh.upper=[4,4,4]", "mesh.max_level=2",
                                 "sedov.centre=[2,2,2]",
                                 R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])"};
    all.insert(all.end(), sets.begin(), sets.end());
    in_ = input::from_text("[problem]\nname = \"sedov\"\n", "t", all).value();
    setup_ = in_->prepare().value();
    gas_ = std::make_unique<gas>(setup_);
    scratch_ = std::make_unique<worker_scratch>(2, setup_.hydro, 8);
    for (const mesh::slot_id s : gas_->mesh.blocks())
      for (int c = 0; c < gas_->now.cells(); ++c) set(s, c, 1.0);
  }

  void set(mesh::slot_id s, int c, double density) {
    primitive w;
    w.density = density;
    to_conserved({}, w, 0, gas_->now.block(s) + c, gas_->now.cells());
  }
  mesh::slot_id at(int x, int y, int z) { return gas_->mesh.find({0, {x, y, z}}); }
  std::vector<mesh::flag> flags() {
    return rt_.run([&] { return refinement_flags(*gas_, setup_, in_->refinement, *scratch_); });
  }

  runtime rt_{{.workers = 2}};
  std::unique_ptr<input> in_;
  setup setup_;
  std::unique_ptr<gas> gas_;
  std::unique_ptr<worker_scratch> scratch_;
  block_costs costs_;
  balancer balance_;
};

TEST_F(Refinement, GasAtRestRequestsCoarsening) {
  for (const mesh::flag f : flags()) EXPECT_EQ(f, mesh::flag::coarsen);
}

TEST_F(Refinement, AMarkedCellTakesItsNeighboursWithinTheBuffer) {
  set(at(1, 1, 1), (1 * 8 + 4) * 8 + 4, 10.0);  // z = 1: within two cells of the block below
  const auto f = flags();
  EXPECT_EQ(f[at(1, 1, 1)], mesh::flag::refine);
  EXPECT_EQ(f[at(1, 1, 0)], mesh::flag::refine);
  EXPECT_EQ(f[at(1, 1, 2)], mesh::flag::coarsen);
  EXPECT_EQ(f[at(0, 1, 1)], mesh::flag::coarsen);
}

TEST_F(Refinement, ACornerReachesSevenNeighboursThroughPeriodicBoundaries) {
  set(at(0, 0, 0), 0, 10.0);
  const auto f = flags();
  int refined = 0;
  for (const mesh::slot_id s : gas_->mesh.blocks()) refined += f[s] == mesh::flag::refine ? 1 : 0;
  EXPECT_EQ(refined, 8);
  EXPECT_EQ(f[at(3, 3, 3)], mesh::flag::refine);
}

struct RefinementByDensity : Refinement {
  RefinementByDensity() : Refinement({"refinement.gradient_of=[]", "refinement.density_levels=[2.0,8.0]"}) {}
};
TEST_F(RefinementByDensity, ThresholdOfTheLevel) {
  for (int c = 0; c < 512; ++c) set(at(2, 2, 2), c, 3.0);
  auto f = flags();
  EXPECT_EQ(f[at(2, 2, 2)], mesh::flag::refine);
  rt_.run([&] {
    return regrid(*gas_, setup_, plan_next_mesh(*gas_, f, 3, 1, balance_), {*scratch_, costs_, balance_})
        .refined.size();
  });
  const mesh::slot_id child = gas_->mesh.find({1, {5, 5, 5}});
  ASSERT_NE(child, mesh::no_slot);
  f = flags();
  EXPECT_EQ(f[child], mesh::flag::keep);  // 3 is below 8, but the block would be refined again on the level above
}

struct RefinementByRegion : Refinement {
  RefinementByRegion() : Refinement({"refinement.gradient_of=[]", "refinement.regions=[0.1,0.9,0.1,0.9,0.1,0.9,2]"}) {}
};
TEST_F(RefinementByRegion, UntilTheLevelIsThere) {
  const floor_counts floors =
      rt_.run([&] { return build_initial(*gas_, setup_, in_->refinement, *in_->problem, *scratch_); });
  EXPECT_EQ(floors.density, 0);
  EXPECT_EQ(gas_->mesh.deepest(), 2);
  EXPECT_NE(gas_->mesh.find({2, {1, 1, 1}}), mesh::no_slot);
  EXPECT_NE(gas_->mesh.find({0, {2, 2, 2}}), mesh::no_slot);
  EXPECT_EQ(flags()[gas_->mesh.find({2, {1, 1, 1}})], mesh::flag::keep);
  EXPECT_GT(gas_->largest_signal_rate(), 0.0);
}

}  // namespace
}  // namespace plx::star
