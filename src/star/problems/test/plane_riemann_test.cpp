#include "star/problems/plane_riemann.hpp"

#include <gtest/gtest.h>

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
