// Floors in the ledger: what they add is the drift of the totals to rounding, with the same bits on workers, devices,
// localities and after a restart.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "star/hydro/state.hpp"
#include "star/step/gas_step.hpp"
#include "star/test/course_test.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

// Two streams apart at speed 20 along an oblique axis: far too high floors act in the vacuum between them, in cells
// beside other levels, and in new blocks.
texts vacuum(const texts& more) {
  return with({"mesh.max_level=1", "mesh.root_blocks=[2,2,2]", "expressions.density=1",
               "expressions.velocity_x=20*tanh((x+0.5*y)/0.1)", "expressions.velocity_y=10*tanh((x+0.5*y)/0.1)",
               "expressions.velocity_z=1", "expressions.pressure=0.4 + 0.3*x", "hydro.density_floor=0.9",
               "hydro.pressure_floor=0.2", "refinement.gradient_of=[\"rho\"]", "refinement.gradient_refine=0.3",
               "refinement.gradient_coarsen=0.1", "refinement.regions=[0.0,0.3,0.0,0.3,0.0,0.3,1]",
               "refinement.interval=2", "refinement.coarsen_after=1", "run.t_end=10", "run.max_steps=8"},
              more);
}

const texts with_faces =
    vacuum({"mesh.sides=[\"zero_gradient\",\"outflow\",\"periodic\",\"periodic\",\"reflecting\","
            "\"outflow\"]"});
const texts with_full3d = with(with_faces, {"hydro.scheme=full3d", "run.max_steps=5"});
const texts with_rk2 = with(with_faces, {"hydro.integrator=rk2", "hydro.reconstruction=plm"});
const texts with_species =
    with(with_faces, {"expressions.species=[\"0.5+0.5*tanh(y/0.02)\",\"0.5-0.5*tanh(y/0.02)\"]"});
const texts with_spin =
    with(with(turning_body(), {"mesh.max_level=1", "run.max_steps=8"}),
         {"expressions.pressure=0.01 + 0.2*exp(-r^2/0.01)", "hydro.pressure_floor=0.02", "hydro.density_floor=0.98",
          "mesh.sides=[\"zero_gradient\",\"outflow\",\"zero_gradient\",\"zero_gradient\",\"outflow\","
          "\"outflow\"]"});
const texts with_gravity = vacuum({"gravity.self=true", "gravity.constant=30", "gravity.order=3", "gravity.theta=0.5",
                                   "mesh.sides=[\"zero_gradient\",\"outflow\",\"outflow\",\"outflow\",\"outflow\","
                                   "\"outflow\"]"});

// The rest of the change of each total in a run must be below that tolerance of the mass, the energy or sqrt(2 M E).
void expect_accounted(const texts& sets, double tolerance) {
  one_run r("expressions", sets);
  simulation& sim = *r.sim;
  sim.start();
  const auto& fields = sim.state().now.fields();
  const std::vector<std::string> sums = sum_names(r.s.modules);
  const auto at = [&](const char* name) {
    const auto found = std::find(sums.begin(), sums.end(), name);
    return found == sums.end() ? -1 : static_cast<int>(fields.size() + (found - sums.begin()));
  };
  const int gravity_start = at("gravity_energy_start"), gravity_now = at("gravity_energy");
  std::vector<double> before = sim.totals();
  double regrids = 0.0, potential = 0.0, first_potential = 0.0;
  while (!sim.finished()) {
    const auto stepped = sim.step();
    ASSERT_TRUE(stepped) << stepped.error().message;
    if (gravity_now < 0) continue;
    const std::vector<double> now = sim.totals();
    if (sim.steps() == 1)
      first_potential = now[static_cast<std::size_t>(gravity_start)];
    else
      regrids += now[static_cast<std::size_t>(gravity_start)] - potential;
    potential = now[static_cast<std::size_t>(gravity_now)];
  }
  const std::vector<double> after = sim.totals();
  EXPECT_GT(sim.floors().density, 100);
  EXPECT_GT(sim.floors().pressure, 100);
  const double mass = std::abs(before[i_density]), energy = std::abs(before[i_energy]) + std::abs(first_potential);
  for (int v = 0; v < static_cast<int>(fields.size()); ++v) {
    if (fields[static_cast<std::size_t>(v)].total.empty()) continue;
    const auto i = static_cast<std::size_t>(v);
    const bool is_momentum = v >= i_momentum && v < i_momentum + 3;
    const double scale = is_momentum ? std::sqrt(2.0 * mass * energy) : v == i_energy ? energy : mass;
    double rest = after[i] - before[i] + sim.left(v) - sim.added().total(v);
    if (v == i_energy) rest += potential - first_potential - regrids;
    std::printf("%-28s %.6e, change %.2e, left %.2e, floors %.2e, rest %.1e\n", fields[i].total.c_str(), before[i],
                after[i] - before[i], sim.left(v), sim.added().total(v), rest / scale);
    EXPECT_LT(std::abs(rest), tolerance * scale) << fields[i].total;
    EXPECT_GT(std::abs(sim.added().total(v)), is_momentum ? -1.0 : 1e-6 * scale) << fields[i].total;
  }
}

TEST(Floors, TheirAdditionsAreTheDrift) {
  for (const texts& sets : {with_faces, with_full3d, with_rk2, with_species}) expect_accounted(sets, 1e-13);
}

// The potential energy of the mass that they add is in that of the energy.
TEST(Floors, TheirAdditionsAreTheDriftWithGravity) { expect_accounted(with_gravity, 1e-13); }

TEST(Floors, TheBitsAreTheSameOnADevice) {
  for (const texts& sets : {with_faces, with_full3d, with_species, with_gravity})
    compare("expressions", with(sets, {"run.max_steps=5"}), {}, 0);
  compare("expressions", with(with_spin, {"run.max_steps=4"}), {}, 0);
}

TEST(Floors, TheBitsAreTheSameAfterARestart) { expect_same_after_a_restart("expressions", with_species, 5); }

TEST(Floors, TheBitsAreTheSameOnLocalitiesAndTheirDevices) {
  const std::vector<std::string> sets = with({"problem.name=expressions"}, with(with_species, {"run.max_steps=5"}));
  expect_same_on_localities(sets, sets);
  expect_same(run_on(1, 4, sets), run_on(1, 2, sets));
  expect_same_on_localities(sets, with(sets, {"run.device=emulated"}));
}

}  // namespace
}  // namespace plx::star
