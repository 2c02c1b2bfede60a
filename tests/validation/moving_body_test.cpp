// Dense bodies in gas a million times thinner that move supersonically in any direction, through refinement boundaries:
// without a floor, and mass and energy change by rounding only.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness.hpp"

namespace plx::star::validation {
namespace {

// From Mach 2 on the body crosses a quarter of the box, into a part that is always refined; with full3d, which is slow,
// two coarse cells.
void move(const std::string& scheme, const std::string& profile, double mach, int axes) {
  const std::string title = fmt::format("moving {}, Mach {}, {} axes, {}", profile, mach, axes, scheme);
  SCOPED_TRACE(title);
  solved s("moving_body",
           {"hydro.scheme=" + scheme, "moving_body.profile=" + profile, fmt::format("moving_body.mach={}", mach),
            "moving_body.direction=" + array({1.0, axes > 1 ? 1.0 : 0.0, axes > 2 ? 1.0 : 0.0}), "mesh.max_level=1",
            "mesh.root_blocks=[4,4,4]", "moving_body.radius=0.12", "moving_body.centre=[-0.1,-0.1,-0.1]",
            fmt::format("run.t_end={}", (scheme == "faces" ? 0.25 : 0.06) * std::sqrt(axes) / std::max(mach, 2.0))});
  simulation& sim = s.sim();
  sim.start();
  const std::vector<double> before = sim.totals();
  bool has_both_levels = false;
  while (!sim.finished()) {
    const auto stepped = sim.step();
    ASSERT_TRUE(stepped) << stepped.error().message;
    has_both_levels |= sim.state().mesh.deepest() == 1 && sim.state().mesh.block_count() < 512u;
  }
  const std::vector<double> after = sim.totals();
  table t(title);
  const floor_counts& f = sim.floors();
  t.at_most("floors", static_cast<double>(f.density + f.pressure + f.input), 0.0);
  t.at_most("change of mass", std::abs(after[i_density] / before[i_density] - 1.0), 1e-12);
  t.at_most("change of energy", std::abs(after[i_energy] / before[i_energy] - 1.0), 1e-12);
  t.holds("blocks of both levels", has_both_levels);
}

TEST(MovingBody, NeedsNoFloorsAndConservesMassAndEnergy) {
  move("faces", "ball", 20.0, 3);
  move("faces", "star", 2.0, 2);
  move("full3d", "star", 20.0, 3);
}

TEST(MovingBody, InEveryDirectionAtEverySpeed) {
  for (const std::string scheme : {"faces", "full3d"})
    for (const std::string profile : {"ball", "star"})
      for (const double mach : {0.5, 2.0, 5.0, 20.0})
        for (const int axes : {1, 2, 3}) move(scheme, profile, mach, axes);
}

// A ball in pressure equilibrium stays one: its density against the exact solution, and the pressure stays uniform.
TEST(MovingBody, InPressureEquilibriumIsCarriedUnchanged) {
  solved s("moving_body", {"moving_body.profile=contact", "moving_body.contrast=100", "mesh.max_level=1",
                           "moving_body.mach=5", "run.t_end=0.1"});
  s.run();
  const gas& g = s.sim().state();
  const std::ptrdiff_t cells = g.now.cells();
  const double gamma = s.settings().hydro.eos.gamma, exact = 1.0 / gamma;
  double worst = 0.0;
  for (const mesh::slot_id slot : g.own()) {
    const double* u = g.now.block(slot);
    for (std::ptrdiff_t c = 0; c < cells; ++c) {
      double m2 = 0.0;
      for (int a = 0; a < 3; ++a) m2 += u[(i_momentum + a) * cells + c] * u[(i_momentum + a) * cells + c];
      const double pressure = (gamma - 1.0) * (u[i_energy * cells + c] - 0.5 * m2 / u[c]);
      worst = std::max(worst, std::abs(pressure / exact - 1.0));
    }
  }
  table t("moving ball in pressure equilibrium, Mach 5, 3 axes");
  t.at_most("L1(rho) over the mass", s.l1(i_density) / s.sim().totals()[i_density], 0.3);
  t.at_most("largest relative change of pressure", worst, 1e-12);
}

}  // namespace
}  // namespace plx::star::validation
