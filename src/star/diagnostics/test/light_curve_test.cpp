#include "star/diagnostics/light_curve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include "star/output/series/variables.hpp"
#include "star/test/gas_run.hpp"

namespace plx::star {
namespace {

using namespace test;

constexpr double sigma = 5.670374e-5;  // Stefan and Boltzmann, erg s^-1 cm^-2 K^-4
constexpr double pi = std::numbers::pi;

/// A gas in the box [-1, 1]^3 with code units of 1e10 cm and 1 g cm^-3, of which a test sets density and temperature.
struct bright_gas : gas_run {
  explicit bright_gas(std::vector<std::string> more = {})
      : gas_run(sets(std::move(more))), light(sim->state(), in->light, s) {}

  static std::vector<std::string> sets(std::vector<std::string> more) {
    std::vector<std::string> all{"units.length=1e10",        "units.density=1",        "units.time=1000",
                                 "eos.molecular_weight=0.6", "light_curve.interval=1", "mesh.root_blocks=[4,4,4]"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  struct matter {
    double density, kelvin;  // code units
  };
  /// Sets the state of each cell by its centre.
  void fill(const std::function<matter(double, double, double)>& f) {
    auto& g = const_cast<gas&>(sim->state());
    const int n = g.mesh.block_size(), cells = g.now.cells();
    for (const mesh::slot_id b : g.own())
      for (int c = 0; c < cells; ++c) {
        const matter m =
            f(g.mesh.centre(b, 0, c % n), g.mesh.centre(b, 1, c / n % n), g.mesh.centre(b, 2, c / (n * n)));
        double* u = g.now.block(b) + c;
        u[i_density * cells] = m.density;
        for (int a = 0; a < 3; ++a) u[(i_momentum + a) * cells] = 0.0;
        const double pressure = m.density * m.kelvin / s.kelvin;
        u[i_energy * cells] = pressure / (5.0 / 3.0 - 1.0);
        u[i_tracer * cells] = std::pow(u[i_energy * cells], 0.6);
      }
  }
  std::map<std::string, double> row() {
    const std::vector<double> values = rt.run([&] { return light.row(); });
    std::map<std::string, double> all;
    for (std::size_t i = 0; i < values.size(); ++i) all[light.columns()[i].name] = values[i];
    return all;
  }
  light_curve light;
};

const char* const directions[] = {"plus_x", "minus_x", "plus_y", "minus_y", "plus_z", "minus_z"};

TEST(LightCurve, AnOpaqueBallShinesAsABlackBody) {
  for (const char* level : {"0", "1"}) {
    bright_gas run({std::string("mesh.max_level=") + level, "refinement.gradient_of=[\"press\"]"});
    run.fill([](double x, double y, double z) {
      return x * x + y * y + z * z < 0.36 ? bright_gas::matter{1.0, 1e5} : bright_gas::matter{1e-30, 1e2};
    });
    auto row = run.row();
    const double surface = 4 * pi * 0.36e20, luminosity = surface * sigma * 1e20;
    EXPECT_NEAR(row["luminosity"], luminosity, 0.02 * luminosity);
    for (const char* d : directions) {
      EXPECT_EQ(row[std::string("luminosity_") + d], row["luminosity_plus_x"]) << d;  // a mirror image of it
      EXPECT_NEAR(row[std::string("area_") + d], pi * 0.36e20, 0.02 * pi * 0.36e20) << d;
      EXPECT_NEAR(row[std::string("temperature_") + d], 1e5, 1.0) << d;
    }
  }
}

// L = 4 kappa sigma times the sum of m T^4, from wherever it is seen.
TEST(LightCurve, AllOfATransparentGasIsSeen) {
  bright_gas run({"light_curve.opacity=1e-13"});
  run.fill([](double x, double y, double z) {
    return bright_gas::matter{1e-6 * (2.0 + x + 0.5 * y * z), 1e4 * (2.0 + x * y - 0.3 * z)};
  });
  double emission = 0.0;
  const gas& g = run.sim->state();
  for (const mesh::slot_id b : g.own())
    for (int c = 0; c < 512; ++c) {
      const double x = g.mesh.centre(b, 0, c % 8), y = g.mesh.centre(b, 1, c / 8 % 8), z = g.mesh.centre(b, 2, c / 64);
      emission +=
          1e-6 * (2.0 + x + 0.5 * y * z) * std::pow(1e4 * (2.0 + x * y - 0.3 * z), 4) * 1e30 * std::pow(2.0 / 32, 3);
    }
  auto row = run.row();
  for (const char* d : directions) {
    EXPECT_NEAR(row[std::string("luminosity_") + d], 4e-13 * sigma * emission, 1e-5 * 4e-13 * sigma * emission) << d;
    EXPECT_EQ(row[std::string("area_") + d], 0.0);
    EXPECT_TRUE(std::isnan(row[std::string("temperature_") + d]));
  }
}

// A hot slab at x > 0.5, a cold one at x < -0.5, nothing between.
TEST(LightCurve, CellsInFrontHideThoseBehind) {
  bright_gas run({"light_curve.directions=[\"-x\",\"+x\",\"+y\"]"});
  run.fill([](double x, double, double) {
    return x > 0.5    ? bright_gas::matter{1.0, 2e4}
           : x < -0.5 ? bright_gas::matter{1.0, 1e4}
                      : bright_gas::matter{1e-30, 1e2};
  });
  ASSERT_THAT(run.light.columns(), testing::SizeIs(10));
  EXPECT_EQ(run.light.columns()[1].name, "luminosity_minus_x");
  auto row = run.row();
  const double face = 4e20, hot = 4 * face * sigma * 16e16, cold = 4 * face * sigma * 1e16;
  EXPECT_NEAR(row["luminosity_plus_x"], hot, 1e-5 * hot);
  EXPECT_NEAR(row["luminosity_minus_x"], cold, 1e-5 * cold);
  EXPECT_NEAR(row["luminosity_plus_y"], (hot + cold) / 4, 1e-5 * hot);
  EXPECT_NEAR(row["area_plus_y"], face / 2, 1e-9 * face);
  EXPECT_NEAR(row["temperature_minus_x"], 1e4, 1.0);
  EXPECT_NEAR(row["luminosity"], (hot + cold + (hot + cold) / 4) / 3, 1e-5 * hot);
}

// The optical depth 1 of a warm slab before a hot wall: sigma (T1^4 (1 - 1/e) + T2^4 / e).
TEST(LightCurve, APartlyTransparentLayerDimsAndShines) {
  bright_gas run({"light_curve.opacity=1", "light_curve.directions=[\"+z\"]"});
  run.fill([](double, double, double z) {
    return z < -0.5 ? bright_gas::matter{1.0, 2e4} : bright_gas::matter{1.0 / 1.5e10, 1e4};
  });
  const double expected = 4 * 4e20 * sigma * (1e16 * (1 - std::exp(-1)) + 16e16 * std::exp(-1));
  EXPECT_NEAR(run.row()["luminosity_plus_z"], expected, 1e-5 * expected);
}

/// An oblique texture that is constant over cells of level 0.
bright_gas::matter texture(double x, double y, double z) {
  const auto cell = [](double v) { return std::floor(v * 8.0); };
  const double phase = 1.3 * cell(x) + 2.1 * cell(y) - 0.7 * cell(z);
  return {1e-10 * (1.1 + std::sin(phase)), 1e4 * (1.2 + std::cos(2.3 * phase))};
}

// Rays of several levels see what rays of one level see.
TEST(LightCurve, RefinedCellsOfEqualMatterLookTheSame) {
  bright_gas coarse({"mesh.root_blocks=[2,2,2]", "light_curve.opacity=0.3"});
  bright_gas refined({"mesh.root_blocks=[2,2,2]", "light_curve.opacity=0.3", "mesh.max_level=2",
                      "refinement.gradient_of=[\"press\"]"});
  ASSERT_GT(refined.sim->state().mesh.deepest(), 1);
  ASSERT_LT(refined.sim->state().mesh.block_count(), std::size_t{512});
  coarse.fill(texture), refined.fill(texture);
  auto a = coarse.row(), b = refined.row();
  for (const auto& [name, value] : a) EXPECT_NEAR(b[name], value, 1e-12 * value) << name;
  EXPECT_GT(a["area_plus_x"], 0.0);
  EXPECT_LT(a["area_plus_x"], 4e20);  // some rays only
}

TEST(LightCurve, ThinGasIsIgnoredWhereAsked) {
  const auto look = [](const std::string& least) {
    bright_gas run({"light_curve.least_density=" + least});
    run.fill([](double x, double, double) { return bright_gas::matter{x > 0.5 ? 1.0 : 1e-4, x > 0.5 ? 2e4 : 1e4}; });
    return run.row();
  };
  const double hot = 4 * 4e20 * sigma * 16e16;
  EXPECT_NEAR(look("1e-4")["luminosity_minus_x"], hot / 16, 1e-5 * hot);
  EXPECT_NEAR(look("1.1e-4")["luminosity_minus_x"], hot, 1e-5 * hot);
}

// A ray by ray computation along the cells of level 0.
TEST(LightCurve, EqualsASumAlongEachRay) {
  bright_gas run({"mesh.root_blocks=[2,2,2]"});
  run.fill(texture);
  double all = 0.0;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      double before = 0.0, light = 0.0;
      for (int k = 15; k >= 0; --k) {
        const auto at = [](int n) { return (n + 0.5) / 8.0 - 1.0; };
        const auto m = texture(at(i), at(k), at(j));
        const double depth = 0.34 * m.density * 1e10 / 8.0;
        light += (std::exp(-before) - std::exp(-before - depth)) * sigma * std::pow(m.kelvin, 4);
        before += depth;
      }
      all += 4 * light * 1e20 / 64;
    }
  EXPECT_NEAR(run.row()["luminosity_plus_y"], all, 1e-5 * all);
}

TEST(LightCurve, IsTheSameOnWorkersAndLocalities) {
  const auto rows = [](unsigned n, unsigned workers, const std::string& device) {
    std::vector<std::vector<double>> each(n);
    on_each(n, workers, [&](int i, step::exchange& net, runtime& rt) {
      const auto in = blast(bright_gas::sets(
          {"mesh.root_blocks=[2,2,2]", "mesh.max_level=1", "run.max_steps=3", "run.device=" + device}));
      const setup s = in->prepare().value();
      simulation sim(*in, s, rt, n == 1 ? step::exchange::alone() : net);
      ASSERT_TRUE(sim.take_device());
      sim.start();
      while (!sim.finished()) ASSERT_TRUE(sim.step());
      sim.fetch();
      const light_curve light(sim.state(), in->light, s);
      each[static_cast<std::size_t>(i)] = light.row();
      EXPECT_EQ(each[static_cast<std::size_t>(i)].size(), i == 0 ? light.columns().size() : 0);
    });
    return each[0];
  };
  const auto one = rows(1, 2, "cpu");
  EXPECT_GT(one[0], 0.0);
  EXPECT_EQ(rows(1, 1, "cpu"), one);
  EXPECT_EQ(rows(3, 2, "cpu"), one);
  EXPECT_EQ(rows(1, 2, "emulated"), one);
}

TEST(LightCurve, WrongOptionsAreRefusedInOneLine) {
  const auto refusal = [](std::vector<std::string> sets) { return blast(sets)->prepare().error().message; };
  EXPECT_EQ(refusal({"light_curve.interval=5"}),
            "light_curve.interval = 5: expected temperatures in kelvin, which follow from [units] and "
            "eos.molecular_weight or species.weights, found none; add them, or set the interval to 0");
  EXPECT_EQ(refusal(bright_gas::sets({"light_curve.directions=[\"+x\",\"up\"]"})),
            "light_curve.directions: expected some of +x, -x, +y, -y, +z, -z, found 'up'");
  EXPECT_EQ(refusal(bright_gas::sets({"light_curve.directions=[\"+x\",\"+x\"]"})),
            "light_curve.directions: expected each once, found '+x' twice");
  EXPECT_EQ(refusal(bright_gas::sets(
                {"mesh.sides=[\"outflow\",\"outflow\",\"reflecting\",\"outflow\",\"outflow\",\"outflow\"]"})),
            "light_curve.interval = 1: expected boundaries of an isolated domain, such as \"outflow\", found "
            "\"reflecting\" in mesh.sides[2]");
  EXPECT_EQ(refusal(bright_gas::sets({"light_curve.directions=[]"})),
            "light_curve.directions: expected at least one, found none");
}

}  // namespace
}  // namespace plx::star
