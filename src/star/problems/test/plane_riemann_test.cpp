#include "star/problems/plane.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "num/exact_sum.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::prepared;

TEST(PlaneRiemann, StartsWithTwoStates) {
  const auto p = prepared("sod", {"sod.direction=[0,0,-1]", "sod.position=0.1"});
  EXPECT_EQ(p->at({0, 0, -0.11}, 0).density, 0.125);
  EXPECT_EQ(p->at({0, 0, -0.09}, 0).density, 1);
  EXPECT_EQ(p->at({0, 0, -0.2}, 0.1).velocity[0], 0);
  EXPECT_LT(p->at({0, 0, -0.12}, 0.1).velocity[2], -0.9);
}

TEST(PlaneRiemann, ObliqueCellsHaveTheRightMass) {
  const box b(16);
  for (const std::string direction : {"[1,1,0]", "[1,1,1]", "[1,-1,2]"}) {
    const auto p = prepared("sod", {"sod.direction=" + direction});
    const auto u = b.fill(*p);
    exact_sum mass;
    for (std::size_t c = 0; c < b.size(); ++c) mass.add(u[c] * b.volume());
    EXPECT_NEAR(mass.value(), 0.5625, 1e-13) << direction;  // half of the box each, by symmetry
  }
}

TEST(PlaneRiemann, PeriodicWavesConserveTheTotalsUntilTheyMeet) {
  const box b(32);
  const auto p = prepared("sod", {"sod.direction=[1,1,0]", "sod.periodic=true"});
  EXPECT_TRUE(p->has_exact(0.1));
  EXPECT_FALSE(p->has_exact(0.11));
  const auto u = b.fill(*p, 0), v = b.fill(*p, 0.1);
  for (const int variable : {0, 1, 2, 3, 4}) {
    exact_sum start, later;
    for (std::size_t c = 0; c < b.size(); ++c) {
      start.add(u[variable * b.size() + c] * b.volume());
      later.add(v[variable * b.size() + c] * b.volume());
    }
    EXPECT_NEAR(later.value(), start.value(), 1e-3) << variable;
  }
}

TEST(PlaneRiemann, SpeciesMarkBothSidesOfTheContact) {
  const auto p = prepared("sod", {"sod.species=true"});
  EXPECT_EQ(p->species_count(), 2);
  EXPECT_EQ(p->at({0.092, 0, 0}, 0.1).fraction[0], 1);
  EXPECT_EQ(p->at({0.093, 0, 0}, 0.1).fraction[1], 1);
}

TEST(PlaneRiemann, EinfeldtStartsWithItsFourNumbers) {
  const auto p = prepared("einfeldt");
  std::vector<double> u(variable_count(0));
  p->average({{0.3, 0, 0}, {0.1, 0.1, 0.1}}, 0, u.data(), 1);
  EXPECT_EQ(u[0], 1);
  EXPECT_EQ(u[1], 2);
  EXPECT_EQ(u[2], 0);
  EXPECT_DOUBLE_EQ(u[4], 3);
}

TEST(PlaneRiemann, VacuumHasFiniteAverages) {
  const auto p = prepared("einfeldt", {"einfeldt.left=[1,-20,0.4]", "einfeldt.right=[1,20,0.4]"});
  std::vector<double> u(variable_count(0));
  p->average({{0, 0, 0}, {0.01, 0.01, 0.01}}, 0.02, u.data(), 1);
  for (const double value : u) EXPECT_TRUE(std::isfinite(value));
  EXPECT_LT(u[0], 1e-90);
}

// The jump conditions of the shock, with the energy (p + gamma p_inf) / (gamma - 1) of a stiffened gas.
TEST(PlaneRiemann, StiffenedGasHasItsExactSolution) {
  auto p = make_problem("sod").value();
  config_table table;
  p->describe(table);
  ASSERT_TRUE(table.load_text("[sod]\nleft = [1.0, 0.0, 1000.0]\nright = [0.9, 0.0, -20.0]\n", "test"));
  const double gamma = 4.4, p_inf = 600.0;
  problem_setting setting;
  setting.eos = eos_parameters{gamma, eos_kind::stiffened, p_inf};
  ASSERT_TRUE(p->prepare(setting));
  const auto& solution = static_cast<const plane_riemann&>(*p).solution();
  const double shock = solution.fan().right_head, t = 1e-3;
  const primitive behind = p->at({(shock - 1e-9) * t, 0, 0}, t), ahead = p->at({(shock + 1e-9) * t, 0, 0}, t);
  EXPECT_EQ(ahead.density, 0.9);
  EXPECT_NEAR(ahead.pressure, -20.0, 1e-12);
  EXPECT_GT(behind.pressure, 100.0);
  const auto flux = [&](const primitive& w) {
    const double u = w.velocity[0] - shock, mass = w.density * u;
    const double energy = (w.pressure + gamma * p_inf) / (gamma - 1.0) + 0.5 * w.density * u * u;
    return std::array{mass, mass * u + w.pressure, (energy + w.pressure) * u};
  };
  const auto a = flux(behind), b = flux(ahead);
  for (int v = 0; v < 3; ++v) EXPECT_NEAR(a[v], b[v], 1e-10 * std::abs(b[v])) << v;
}

TEST(PlaneRiemann, WhiteDwarfMatterHasNoExactSolution) {
  auto p = make_problem("sod").value();
  config_table table;
  p->describe(table);
  problem_setting setting;
  setting.eos = eos_parameters{5.0 / 3.0, eos_kind::white_dwarf, 0.0, 1e-2, 1.0};
  ASSERT_TRUE(p->prepare(setting));
  EXPECT_TRUE(p->has_exact(0.0));
  EXPECT_FALSE(p->has_exact(0.1));
  EXPECT_TRUE(p->exact_profile(0.1).columns.empty());
  setting.eos = eos_parameters{5.0 / 3.0, eos_kind::white_dwarf, 0.0, 10.0, 1.0};
  const auto refused = p->prepare(setting);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("sod.left: expected [density > 0, velocity, pressure > 12."),
            std::string::npos)
      << refused.error().message;
}

TEST(PlaneRiemann, WrongOptionsAreRefusedWithTheirKey) {
  for (const std::string bad : {"sod.left=[-1,0,1]", "sod.right=[1,0,0]", "sod.direction=[0,0,0]"}) {
    auto p = make_problem("sod").value();
    config_table table;
    p->describe(table);
    table.set(bad).value();
    const auto r = p->prepare({});
    ASSERT_FALSE(r) << bad;
    EXPECT_EQ(r.error().message.find(bad.substr(0, bad.find('='))), 0u) << r.error().message;
  }
}

}  // namespace
}  // namespace plx::star
