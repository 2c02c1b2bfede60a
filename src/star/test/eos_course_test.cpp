// Runs with each equation of state: the shock tube of a stiffened gas against its exact solution, and the same bits on
// the CPU, on devices and on several localities.
#include <gtest/gtest.h>

#include <cstdio>

#include "star/problems/test/error_norms.hpp"
#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

const texts stiffened{"eos.kind=stiffened", "eos.p_inf=600", "hydro.gamma=4.4", "sod.left=[1,0,1000]",
                      "sod.right=[0.5,0,-20]"};
// Electrons at x = 1 and 1/2, with a thermal pressure of about their own.
const texts white_dwarf{"eos.kind=white_dwarf",           "eos.electron_pressure=0.5", "eos.electron_density=1",
                        "hydro.gamma=1.6666666666666667", "sod.left=[1,0,1.2]",        "sod.right=[0.125,0,0.04]"};

// Radiation of 50 and 0.06 times the pressure of the gas.
const texts radiation{"eos.kind=radiation",       "eos.gas_constant=1",
                      "eos.radiation_constant=1", "hydro.gamma=1.6666666666666667",
                      "sod.left=[1,0,50]",        "sod.right=[0.125,0,0.07]"};

/// L1 error of the density at the end of a tube of 8 * blocks cells.
double tube_error(int blocks) {
  const std::string half = std::to_string(0.5 / blocks);
  one_run run("sod",
              with(stiffened, {"mesh.root_blocks=[" + std::to_string(blocks) + ",1,1]",
                               "mesh.lower=[-0.5,-" + half + ",-" + half + "]",
                               "mesh.upper=[0.5," + half + "," + half + "]", "mesh.max_level=0", "run.t_end=0.004"}));
  simulation& sim = *run.sim;
  sim.start();
  while (!sim.finished()) {
    const auto r = sim.step();
    EXPECT_TRUE(r) << r.error().message;
    if (!r) return 1.0;
  }
  EXPECT_EQ(sim.floors().pressure + sim.floors().density, 0);
  const gas& g = sim.state();
  error_norms norms(*run.in->problem);
  const int n = g.mesh.block_size();
  for (const mesh::slot_id s : g.own()) {
    std::vector<double> centre[3];
    block_cells cells{n, g.mesh.cell_width(s), {}};
    for (int axis = 0; axis < 3; ++axis) {
      for (int i = 0; i < n; ++i) centre[axis].push_back(g.mesh.centre(s, axis, i));
      cells.centre[axis] = centre[axis].data();
    }
    norms.add_block(cells, sim.time(), g.now.block(s));
  }
  return norms.l1(i_density);
}

TEST(EosCourse, ShockTubeOfAStiffenedGasConverges) {
  const double coarse = tube_error(8), fine = tube_error(16);
  std::printf("L1 errors of the density: %.3e with 64 cells, %.3e with 128\n", coarse, fine);
  EXPECT_LT(coarse, 8e-3);
  EXPECT_LT(fine, 0.62 * coarse);  // order 0.7 at least
}

const texts refining{"mesh.max_level=1",          "mesh.root_blocks=[2,2,2]",
                     "run.max_steps=8",           "refinement.interval=2",
                     "sod.direction=[1,1,0]",     "refinement.gradient_of=[\"rho\",\"press\",\"vel1\"]",
                     "refinement.coarsen_after=1"};

TEST(EosCourse, DevicesGiveTheSameBits) {
  for (const texts& kind : {stiffened, white_dwarf, radiation}) compare("sod", with(refining, kind), {}, 0);
  compare("sod", with(with(refining, white_dwarf), {"hydro.scheme=full3d", "run.max_steps=4"}), {}, 0);
}

TEST(EosCourse, LocalitiesGiveTheSameBits) {
  for (const texts& kind : {stiffened, white_dwarf, radiation}) {
    const texts sets = with(with(refining, {"problem.name=sod", "hydro.pressure_floor=1e-14"}), kind);
    const outcome one = run_on(1, 2, sets);
    ASSERT_EQ(one.error, "");
    ASSERT_GT(one.blocks.size(), 8u);
    expect_same(run_on(3, 1, sets), one);
  }
}

TEST(EosCourse, ProblemsWithFormulasOfIdealGasesRefuseOthers) {
  const auto in = input::from_text("[problem]\nname = \"noh\"\n", "t", {"eos.kind=stiffened", "eos.p_inf=1"});
  ASSERT_TRUE(in);
  const auto s = in.value()->prepare();
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message,
            "eos.kind = \"stiffened\": expected \"ideal\", the only equation of state for which the formulas of this "
            "problem hold; choose it, or another problem");
}

}  // namespace
}  // namespace plx::star
