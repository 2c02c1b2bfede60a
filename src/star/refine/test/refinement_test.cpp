#include "star/refine/refinement.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "rt/runtime.hpp"
#include "star/refine/regrid.hpp"
#include "star/runners/gravity_field.hpp"

namespace plx::star {
namespace {

class Refinement : public testing::Test {
 protected:
  // A box of 4^3 blocks of 8^3 cells with edge 4, periodic, gas at rest.
  explicit Refinement(const std::vector<std::string>& sets = {}, const std::string& problem = "sedov") {
    std::vector<std::string> all{"mesh.root_blocks=[4,4,4]", "mesh.upper=[4,4,4]", "mesh.max_level=2",
                                 R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])"};
    if (problem == "sedov") all.emplace_back("sedov.centre=[2,2,2]");
    all.insert(all.end(), sets.begin(), sets.end());
    in_ = input::from_text("[problem]\nname = \"" + problem + "\"\n", "t", all).value();
    setup_ = in_->prepare().value();
    gas_ = std::make_unique<gas>(setup_);
    scratch_ = std::make_unique<worker_scratch>(2, setup_.hydro, 8);
    for (const mesh::slot_id s : gas_->mesh.blocks())
      for (int c = 0; c < gas_->now.cells(); ++c) set(s, c, 1.0);
  }

  void set(mesh::slot_id s, int c, double density) {
    primitive w;
    w.density = density, w.fraction[1] = 1.0;
    set(s, c, w);
  }
  void set(mesh::slot_id s, int c, const primitive& w) {
    to_conserved({}, w, setup_.hydro.n_species, gas_->now.block(s) + c, gas_->now.cells());
  }
  void set_block(mesh::slot_id s, double density) {
    for (int c = 0; c < gas_->now.cells(); ++c) set(s, c, density);
  }
  /// Makes a regrid of these flags; returns the first child of the block at (2, 2, 2).
  mesh::slot_id child_after(const std::vector<mesh::flag>& f) {
    rt_.run([&] {
      return regrid(*gas_, setup_, plan_next_mesh(*gas_, f, 3, 1, balance_), {*scratch_, costs_, balance_})
          .refined.size();
    });
    return gas_->mesh.find({1, {4, 4, 4}});
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

// Cells of level 0 have a volume of 1/512, those of level 1 an eighth of it.
struct RefinementByMass : Refinement {
  RefinementByMass() : Refinement({"refinement.gradient_of=[]", "refinement.cell_mass=0.00390625"}) {}
};
TEST_F(RefinementByMass, MassOfACellAndOfACoarserOne) {
  set_block(at(1, 1, 1), 2.0);
  set_block(at(2, 2, 2), 2.001);
  const auto f = flags();
  EXPECT_EQ(f[at(1, 1, 1)], mesh::flag::refine);  // the buffer of (2, 2, 2)
  EXPECT_EQ(f[at(0, 1, 1)], mesh::flag::coarsen);
  const mesh::slot_id child = child_after(f);
  ASSERT_NE(child, mesh::no_slot);
  for (const auto& [density, expected] : {std::pair{0.999, mesh::flag::coarsen},
                                          {1.001, mesh::flag::keep},
                                          {15.99, mesh::flag::keep},
                                          {16.01, mesh::flag::refine}}) {
    for (const mesh::slot_id s : gas_->mesh.blocks()) set_block(s, 0.1);
    set_block(child, density);
    EXPECT_EQ(flags()[child], expected) << density;
  }
}

// The Jeans length of a gas with pressure 1 is sqrt(pi gamma) / density.
struct RefinementByJeansLength : Refinement {
  RefinementByJeansLength()
      : Refinement({"refinement.gradient_of=[]", "refinement.jeans_cells=8", "gravity.constant=1"}) {}
};
TEST_F(RefinementByJeansLength, CellsPerLength) {
  const double one = std::sqrt(std::acos(-1.0) * 1.4);  // density at which the length is 1, eight cells of level 0
  set_block(at(2, 2, 2), 0.999 * one);
  EXPECT_EQ(flags()[at(2, 2, 2)], mesh::flag::coarsen);
  set_block(at(2, 2, 2), 1.001 * one);
  const auto f = flags();
  EXPECT_EQ(f[at(2, 2, 2)], mesh::flag::refine);
  const mesh::slot_id child = child_after(f);
  ASSERT_NE(child, mesh::no_slot);
  for (const auto& [density, expected] : {std::pair{0.799 * one, mesh::flag::coarsen},
                                          {0.801 * one, mesh::flag::keep},
                                          {1.999 * one, mesh::flag::keep},
                                          {2.001 * one, mesh::flag::refine}}) {
    for (const mesh::slot_id s : gas_->mesh.blocks()) set_block(s, 0.1);
    set_block(child, density);
    EXPECT_EQ(flags()[child], expected) << density / one;
  }
}

struct RefinementBySpecies : Refinement {
  RefinementBySpecies() : Refinement({"refinement.gradient_of=[]", "refinement.species=[2,0.2,0.4]"}, "advection") {
    for (const mesh::slot_id s : gas_->mesh.blocks()) set_block(s, 1.0);
  }
  void set_fraction(mesh::slot_id s, int c, double fraction) {
    primitive w;
    w.fraction[1] = 1.0 - fraction, w.fraction[2] = fraction;
    set(s, c, w);
  }
  mesh::flag flag_with(double fraction) {
    for (int c = 0; c < 512; ++c) set_fraction(at(2, 2, 2), c, fraction);
    for (const mesh::slot_id s : gas_->mesh.blocks())
      for (int c = 0; c < 512 && s != at(2, 2, 2); ++c) set_fraction(s, c, fraction);
    return flags()[at(2, 2, 2)];
  }
};
TEST_F(RefinementBySpecies, FractionsInTheRangeAndOnBothSidesOfIt) {
  EXPECT_EQ(flag_with(0.09), mesh::flag::coarsen);
  EXPECT_EQ(flag_with(0.11), mesh::flag::keep);  // below half the lower limit a block may be coarsened
  EXPECT_EQ(flag_with(0.201), mesh::flag::refine);
  EXPECT_EQ(flag_with(0.399), mesh::flag::refine);
  EXPECT_EQ(flag_with(0.69), mesh::flag::keep);
  EXPECT_EQ(flag_with(0.71), mesh::flag::coarsen);
  set_fraction(at(2, 2, 2), 0, 0.0);  // no cell is in the range, but a value between this one and its neighbours is
  const auto f = flags();
  EXPECT_EQ(f[at(2, 2, 2)], mesh::flag::refine);
  EXPECT_EQ(f[at(1, 2, 2)], mesh::flag::refine);
  EXPECT_EQ(f[at(0, 0, 0)], mesh::flag::coarsen);
}

// A potential that is given: -depth in one cell of a block, 0 elsewhere.
struct RefinementByPotential : Refinement {
  RefinementByPotential()
      : Refinement({"refinement.gradient_of=[]", "refinement.potential_levels=[2,8]", "gravity.self=true",
                    R"(mesh.sides=["outflow","outflow","outflow","outflow","outflow","outflow"])"}) {}
  std::vector<mesh::flag> flags_with(mesh::slot_id slot, int cell, double depth, double weakening = 1.0) {
    gravity_field field;
    field.hold(*gas_);
    for (const mesh::slot_id s : gas_->mesh.blocks()) std::fill_n(field.values(s), 512, 0.0);
    field.values(slot)[cell] = -depth;
    return rt_.run([&] { return refinement_flags(*gas_, setup_, in_->refinement, *scratch_, weakening, &field); });
  }
};
TEST_F(RefinementByPotential, DepthOfTheLevelAndOfTheOneBefore) {
  const mesh::slot_id block = at(2, 2, 2);
  EXPECT_EQ(flags_with(block, 0, 1.999)[block], mesh::flag::coarsen);
  EXPECT_EQ(flags_with(block, 0, -2.001)[block], mesh::flag::coarsen);
  EXPECT_EQ(flags_with(block, 0, 2.001, 1.01)[block], mesh::flag::coarsen);
  const auto f = flags_with(block, 0, 2.001);  // a cell at the lower corner, so the buffer reaches seven blocks
  EXPECT_EQ(f[block], mesh::flag::refine);
  EXPECT_EQ(f[at(1, 1, 1)], mesh::flag::refine);
  EXPECT_EQ(f[at(3, 2, 2)], mesh::flag::coarsen);
  const mesh::slot_id child = child_after(f);
  ASSERT_NE(child, mesh::no_slot);
  for (const auto& [depth, expected] : {std::pair{1.999, mesh::flag::coarsen},
                                        {2.001, mesh::flag::keep},
                                        {7.999, mesh::flag::keep},
                                        {8.001, mesh::flag::refine}})
    EXPECT_EQ(flags_with(child, 511, depth)[child], expected) << depth;
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

// Cells have the mass 1/512, so cell_mass requests no block until the factor is 2^-6; then it requests all 64, which is
// one level for 512 blocks. One check strengthens to 1/2 only.
struct RefinementToATarget : Refinement {
  RefinementToATarget()
      : Refinement({"mesh.max_level=1", "refinement.gradient_of=[]", "refinement.cell_mass=0.1",
                    "refinement.max_blocks=600", "refinement.fill_blocks=true"}) {}
};
TEST_F(RefinementToATarget, TheInitialMeshFillsItThroughChecksWithoutAChange) {
  rt_.run([&] { return build_initial(*gas_, setup_, in_->refinement, *in_->problem, *scratch_); });
  EXPECT_EQ(gas_->mesh.block_count(), 512u);
}

}  // namespace
}  // namespace plx::star
