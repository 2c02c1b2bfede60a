#include "star/diagnostics/star_diagnostics.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>

#include "base/file.hpp"
#include "star/driver/run.hpp"
#include "star/runners/gravity_field.hpp"
#include "star/test/course_test.hpp"
#include "star/test/gas_run.hpp"

namespace plx::star {
namespace {

using namespace test;

// Two small stars of masses 5/8 and 3/8 at the distance 1, with the period 2 pi; 16 cells per unit of length. Their
// centres are corners of cells, so that the mesh leaves them as round as it can.
std::vector<std::string> orbit(const std::vector<std::string>& more) {
  std::vector<std::string> sets{"gravity.self=true",
                                "gravity.order=3",
                                "problem.name=two_stars",
                                "two_stars.separation=1",
                                "two_stars.index=1",
                                "two_stars.masses=[0.625,0.375]",
                                "two_stars.radii=[0.25,0.25]",
                                "two_stars.atmosphere=1e-7",
                                "mesh.root_blocks=[4,4,2]",
                                "mesh.lower=[-1,-1,-0.5]",
                                "mesh.upper=[1,1,0.5]",
                                "diagnostics.stars=2",
                                "run.max_steps=2",
                                "refinement.gradient_of=[]",
                                "hydro.integrator=rk2",
                                "hydro.reconstruction=plm",
                                "hydro.pressure_floor=1e-13"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

constexpr double reduced = 0.625 * 0.375;  // mass

/// A row by name of column.
using named_row = std::map<std::string, double>;

/// The amplitude of the waves: that of two points, 4 G m1 m2 / a, less what the tidal field does in spheres, which have
/// not yet given way to it: 6 G m / a^3 times the second moment, half the moment of inertia, of the other star.
double waves(named_row& row) {
  return -4 * reduced + 3 * (0.375 * row["star_1_inertia_zz"] + 0.625 * row["star_2_inertia_zz"]);
}

struct star_run : gas_run {
  explicit star_run(std::vector<std::string> sets)
      : gas_run(std::move(sets)), diagnostics(sim->state(), *in, s, rt.worker_count()) {}
  named_row numbers() {
    gravity::gravity_options o = in->gravity;
    o.constant = s.gravitational_constant;
    gravity_field field;  // of a state that the test may have changed
    const std::vector<double> values = rt.run([&] {
      gravity_solver(sim->state(), o).solve(field);
      return diagnostics.row(sim->time(), field);
    });
    EXPECT_EQ(values.size(), diagnostics.columns().size());
    named_row all;
    for (std::size_t i = 0; i < values.size(); ++i) all[diagnostics.columns()[i].name] = values[i];
    return all;
  }
  /// Calls f(centre, conserved values with the stride of cells()) for each cell.
  template <class F>
  void change(F&& f) {
    auto& g = const_cast<gas&>(sim->state());
    for (const mesh::slot_id b : g.mesh.blocks())
      for (int c = 0; c < cells(); ++c)
        f(vector{g.mesh.centre(b, 0, c % 8), g.mesh.centre(b, 1, c / 8 % 8), g.mesh.centre(b, 2, c / 64)},
          g.now.block(b) + c);
  }
  int cells() const { return sim->state().now.cells(); }
  star_diagnostics diagnostics;
};

TEST(StarDiagnostics, AnOrbitOfTwoStarsIsKeplers) {
  star_run run(orbit({}));
  named_row first = run.numbers();
  EXPECT_NEAR(first["star_1_mass"], 0.625, 1e-3);
  EXPECT_NEAR(first["star_2_mass"], 0.375, 1e-3);
  EXPECT_NEAR(first["star_1_centre_x"], 0.375, 1e-3);
  EXPECT_NEAR(first["star_2_centre_x"], -0.625, 1e-3);
  EXPECT_NEAR(first["star_2_velocity_y"], -0.625, 1e-3);
  EXPECT_NEAR(first["separation_1_2"], 1.0, 1e-3);
  EXPECT_NEAR(first["orbital_frequency_1_2"], 1.0, 2e-3);
  EXPECT_NEAR(first["orbital_period_1_2"], 2 * std::numbers::pi, 0.02);
  EXPECT_NEAR(first["orbital_angular_momentum_1_2"], reduced, 1e-3);
  EXPECT_NEAR(first["semi_major_axis_1_2"], 1.0, 5e-3);
  EXPECT_LT(first["eccentricity_1_2"], 5e-3);
  EXPECT_NEAR(first["star_2_roche_radius"], eggleton_radius(0.6), 2e-3);
  EXPECT_EQ(first["star_1_lobe_mass"], first["star_1_mass"]);
  for (const char* star : {"star_1_", "star_2_"})
    for (const char* axis : {"x", "y", "z"}) {
      EXPECT_NEAR(first[std::string(star) + "spin_" + axis], 0.0, 1e-4) << star << axis;
      EXPECT_NEAR(first[std::string(star) + "torque_" + axis], 0.0, 1e-3) << star << axis;
    }
  EXPECT_NEAR(first["wave_plus"], waves(first), 3e-3);
  EXPECT_NEAR(first["wave_cross"], 0.0, 1e-3);
  const double virial = first["star_1_potential_energy"] + first["star_2_potential_energy"];
  EXPECT_NEAR(virial, run.in->problem->references(0)[3].value, 0.05 * std::abs(virial));
  EXPECT_NEAR(first["star_1_kinetic_energy"], 0.5 * 0.625 * 0.375 * 0.375, 1e-3);
  EXPECT_TRUE(std::isnan(first["star_1_mass_rate"]));
  EXPECT_EQ(first["orbits_1_2"], 0.0);
  run.finish();
  named_row later = run.numbers();
  const double turned = run.sim->time();
  EXPECT_GT(turned, 0.01);
  EXPECT_NEAR(later["orbits_1_2"], turned / (2 * std::numbers::pi), 2e-5);
  EXPECT_NEAR(later["star_1_mass_rate"], 0.0, 0.05);
  EXPECT_NEAR(later["wave_cross"], waves(first) * std::sin(2 * turned), 1e-3);
  EXPECT_EQ(later["disrupted_star"], 0.0);
}

// Spin is that of the star about itself; the mesh may rotate.
TEST(StarDiagnostics, SynchronousStarsSpinOnAnyMesh) {
  const std::string sides =
      "mesh.sides=[\"zero_gradient\",\"zero_gradient\",\"zero_gradient\",\"zero_gradient\","
      "\"zero_gradient\",\"zero_gradient\"]";
  for (const char* omega : {"frame.omega=0", "frame.omega=1"}) {
    star_run run(orbit({"two_stars.synchronous=true", omega, sides}));
    named_row first = run.numbers();
    // The mass inside of a cell counts at its centre in one, and at its place in the other.
    const double in_cells = first["star_1_mass"] / (6 * 16 * 16);
    EXPECT_NEAR(first["star_1_spin_z"], first["star_1_inertia_zz"], 1.1 * in_cells);
    EXPECT_GT(first["star_1_inertia_zz"], 5e-3);
    run.finish();
    named_row later = run.numbers();
    const double turned = run.sim->time();
    EXPECT_NEAR(later["orbits_1_2"], turned / (2 * std::numbers::pi), 2e-5) << omega;
    EXPECT_NEAR(later["wave_plus"], waves(first) * std::cos(2 * turned), 5e-3) << omega;
    EXPECT_NEAR(later["wave_cross"], waves(first) * std::sin(2 * turned), 1e-3) << omega;
  }
}

// Half of each star is on its own side of the plane in which they touch.
TEST(StarDiagnostics, TouchingStarsAreApart) {
  star_run run(orbit({"two_stars.masses=[0.5,0.5]", "two_stars.radii=[0.5,0.5]", "diagnostics.star_reach=2"}));
  named_row found = run.numbers();
  EXPECT_NEAR(found["star_1_mass"], 0.5, 2e-3);
  EXPECT_NEAR(found["star_1_mass"], found["star_2_mass"], 1e-12);
  EXPECT_NEAR(found["star_1_centre_x"], 0.5, 2e-3);
  EXPECT_NEAR(found["star_2_centre_x"], -0.5, 2e-3);
  EXPECT_LT(found["star_1_lobe_mass"], found["star_1_mass"]);
}

TEST(StarDiagnostics, AnyNumberOfStars) {
  const std::vector<std::string> clumps = orbit({"diagnostics.stars=3"});
  const vector at[] = {{0.6, 0.1, 0.0}, {-0.5, 0.4, 0.1}, {-0.1, -0.6, -0.05}};
  star_run run(clumps);
  run.change([&](const vector& x, double* u) {
    u[0] = 1e-8;
    for (int s = 0; s < 3; ++s) {
      const vector d = x - at[s];
      u[0] += (3.0 - s) * std::exp(-dot(d, d) / 0.006);
    }
    for (int v = 1; v < 6; ++v) u[v * run.cells()] = v < 4 ? 0.0 : u[0];
  });
  named_row found = run.numbers();
  for (int s = 0; s < 3; ++s) {
    const std::string star = "star_" + std::to_string(s + 1) + "_";
    EXPECT_NEAR(found[star + "mass"], (3.0 - s) * std::pow(0.006 * std::numbers::pi, 1.5), 1e-4);
    EXPECT_NEAR(found[star + "centre_x"], at[s][0], 2e-3);
    EXPECT_NEAR(found[star + "centre_y"], at[s][1], 2e-3);
  }
  EXPECT_GT(found["separation_2_3"], 1.0);
  // The same gas with one star asked for, and with more than there are.
  star_run one(orbit({"diagnostics.stars=1"}));
  EXPECT_GT(one.numbers()["star_1_mass"], 0.62);
  star_run two(orbit({"diagnostics.stars=3"}));
  named_row missing = two.numbers();
  EXPECT_EQ(missing["star_3_mass"], 0.0);
  EXPECT_TRUE(std::isnan(missing["star_3_centre_x"]));
  EXPECT_TRUE(std::isnan(missing["separation_1_3"]));
  EXPECT_NEAR(missing["star_2_mass"], 0.375, 1e-3);
}

// Core and envelope of a star are two species; the atmosphere, which is one as well, is no star.
TEST(StarDiagnostics, StarsWithCoresHaveAllOfTheirSpecies) {
  const auto binary = [](const std::string& matter, const std::string& species, const std::string& stars) {
    return std::vector<std::string>{"gravity.self=true",          "gravity.order=3",
                                    "gravity.theta=0.5",          "problem.name=binary",
                                    "binary.masses=[0.6,0.4]",    "binary.separation=1",
                                    "binary.tolerance=1e-3",      "binary.matter=" + matter,
                                    "binary.filling=[0.8,0.8]",   "binary.species=" + species,
                                    "diagnostics.stars=" + stars, "mesh.root_blocks=[4,4,4]"};
  };
  for (const std::string matter : {R"(["core_envelope","core_envelope"])", R"(["core_envelope","polytrope"])",
                                   R"(["polytrope","core_envelope"])", R"(["polytrope","polytrope"])"}) {
    star_run tagged(binary(matter, "true", "2")), plain(binary(matter, "false", "2"));
    named_row found = tagged.numbers();
    for (const auto& [name, value] : plain.numbers()) {
      if (std::isnan(value)) continue;
      EXPECT_NEAR(found[name], value, 1e-12) << name << " of " << matter;
    }
    EXPECT_NEAR(found["star_1_mass"], 0.6, 1e-3);
    const std::vector<int> stars = tagged.in->problem->star_of_species();
    for (std::size_t x = 0; x < stars.size(); ++x)
      for (int s = 0; s < 2; ++s) {
        const double part = found["star_" + std::to_string(s + 1) + "_species_" + std::to_string(x)];
        EXPECT_EQ(part > 0.05, stars[x] == s) << matter << " species " << x << " star " << s;
      }
  }
  star_run more(binary(R"(["polytrope","polytrope"])", "true", "3"));  // as many stars as species
  named_row missing = more.numbers();
  EXPECT_EQ(missing["star_3_mass"], 0.0);
  EXPECT_NEAR(missing["separation_1_2"], 1.0, 1e-2);
}

// Fast cold gas in one corner, hot gas at rest in another.
TEST(StarDiagnostics, UnboundMassOfAPreparedState) {
  star_run run(orbit({}));
  named_row before = run.numbers();
  EXPECT_EQ(before["unbound_mass"], 0.0);
  EXPECT_EQ(before["unbound_mass_bernoulli"], 0.0);
  double fast = 0, hot = 0;
  run.change([&](const vector& x, double* u) {
    const bool is_fast = x[0] > 0.8 && x[1] > 0.8, is_hot = x[0] < -0.8 && x[1] < -0.8;
    const int n = run.cells();
    if (is_fast || is_hot) {
      u[0] = 1e-6;
      for (int a = 1; a < 4; ++a) u[a * n] = 0.0;
      if (is_fast) u[3 * n] = 10 * u[0];
      const double internal = is_hot ? 0.7 * u[0] : 1e-3 * u[0];
      u[4 * n] = 0.5 * u[3 * n] * u[3 * n] / u[0] + internal;
      u[5 * n] = std::pow(internal, 0.6);
      (is_fast ? fast : hot) += u[0] * std::pow(1.0 / 16, 3);
    }
  });
  named_row found = run.numbers();
  EXPECT_GT(fast * hot, 0.0);
  EXPECT_NEAR(found["unbound_mass"], fast, 1e-12 * fast);
  EXPECT_NEAR(found["unbound_mass_bernoulli"], fast + hot, 1e-12 * hot);
}

// The rule: below half of the mass in the first row, at the time at which a line between rows crosses it.
TEST(StarDiagnostics, AStarThatLosesHalfItsMassIsDisrupted) {
  star_run run(orbit({}));
  const double mass = run.numbers()["star_2_mass"];
  while (!run.sim->finished()) ASSERT_TRUE(run.sim->step());
  run.change([&](const vector& x, double* u) {
    for (int v = 0; v < 5 && x[0] < 0; ++v) u[v * run.cells()] *= 0.4;
  });
  named_row found = run.numbers();
  EXPECT_NEAR(found["star_2_mass"], 0.4 * mass, 2e-3);
  EXPECT_EQ(found["disrupted_star"], 2.0);
  EXPECT_NEAR(found["disruption_time"], run.sim->time() * 5.0 / 6.0, 0.01 * run.sim->time());
}

TEST(StarDiagnostics, RowsAreTheSameOnWorkersLocalitiesADeviceAndAfterARestart) {
  const std::vector<std::string> fine{"mesh.root_blocks=[2,2,1]",        "mesh.max_level=1",
                                      "refinement.density_levels=[0.1]", "refinement.interval=1",
                                      "hydro.gamma=1.6666666666666667",  "run.max_steps=2"};
  const auto rows = [&](unsigned n, unsigned workers, bool restarts, const std::string& device) {
    std::vector<std::vector<double>> each(n);
    on_each(n, workers, [&](int i, step::exchange& net, runtime& rt) {
      std::vector<std::string> sets = orbit(fine);
      sets.push_back("run.device=" + device);
      const auto in = blast(sets);
      const setup s = in->prepare().value();
      simulation sim(*in, s, rt, n == 1 ? step::exchange::alone() : net);
      ASSERT_TRUE(sim.take_device());
      sim.start();
      auto d = std::make_unique<star_diagnostics>(sim.state(), *in, s, rt.worker_count());
      const auto add_row = [&] {
        sim.fetch();
        for (const double value : d->row(sim.time(), sim.gravity()))
          each[i].push_back(std::isnan(value) ? -1e300 : value);
      };
      add_row();
      while (!sim.finished()) {
        ASSERT_TRUE(sim.step());
        if (sim.is_ahead()) continue;
        if (restarts) {
          const std::vector<double> state = d->state();
          d = std::make_unique<star_diagnostics>(sim.state(), *in, s, rt.worker_count());
          ASSERT_TRUE(d->restore(state));
        }
        add_row();
      }
    });
    for (const auto& r : each) EXPECT_EQ(r, each[0]);
    return each[0];
  };
  const auto one = rows(1, 2, false, "cpu");
  EXPECT_EQ(rows(2, 1, true, "cpu"), one);
  EXPECT_EQ(rows(1, 2, false, tested()), one);
}

TEST(StarDiagnostics, NumbersOfOtherOptionsAreNotRestored) {
  star_run two(orbit({"mesh.root_blocks=[2,2,1]"})), three(orbit({"diagnostics.stars=3", "mesh.root_blocks=[2,2,1]"}));
  two.numbers();
  EXPECT_FALSE(three.diagnostics.restore(two.diagnostics.state()));
  EXPECT_TRUE(two.diagnostics.restore(two.diagnostics.state()));
}

TEST(StarDiagnostics, ARunWritesItsTable) {
  const std::string folder = "run-diagnostics-" + std::to_string(getpid());
  std::filesystem::remove_all(folder);
  std::vector<std::string> sets = orbit(
      {"mesh.root_blocks=[2,2,1]", "mesh.max_level=0", "diagnostics.interval=2", "run.max_steps=3", "units.length=Rsun",
       "units.mass=Msun", "units.time=gravity", "hydro.gamma=1.6666666666666667", "eos.molecular_weight=0.6"});
  const auto in = blast(sets);
  const setup s = in->prepare().value();
  runtime rt({.workers = 2});
  run_request request;
  request.out = folder;
  run_observer silent;
  const run_end end = run(*in, s, rt, request, silent);
  EXPECT_EQ(end.status, run_status::finished) << end.message;
  const std::string text = read_file(folder + "/diagnostics.csv").value();
  EXPECT_EQ(text.find("step,time,star_1_mass,star_1_mass_rate,star_1_centre_x"), 0u) << text;
  for (const char* row : {"\n0,0,", "\n2,0.", "\n3,0."}) EXPECT_NE(text.find(row), std::string::npos) << row;
  EXPECT_EQ(text.find("\n1,"), std::string::npos);
  const std::string columns = read_file(folder + "/diagnostics_columns.csv").value();
  EXPECT_EQ(columns.find("name,unit,factor,meaning\nstar_1_mass,g,1.98"), 0u) << columns;
  EXPECT_NE(columns.find("\nstrain_plus,1,1,"), std::string::npos);
  // 0.6 m_u (G Msun / Rsun) / k
  EXPECT_NE(columns.find("\nstar_1_temperature_max,K,1376"), std::string::npos) << columns;
  std::filesystem::remove_all(folder);
}

TEST(StarDiagnostics, StarsWithoutGravityAreRefused) {
  EXPECT_EQ(blast({"diagnostics.stars=2"})->prepare().error().message,
            "diagnostics.stars = 2: expected gravity.self = true, found false");
}

}  // namespace
}  // namespace plx::star
