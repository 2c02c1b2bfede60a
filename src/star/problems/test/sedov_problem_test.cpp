#include <gtest/gtest.h>

#include <cmath>

#include "num/exact_sum.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::prepared;

double total(const std::vector<double>& u, const box& b, int variable) {
  exact_sum sum;
  for (std::size_t c = 0; c < b.size(); ++c) sum.add(u[variable * b.size() + c]);
  return sum.value() * b.volume();
}

TEST(SedovProblem, EnergyIsExactAtEveryResolution) {
  const auto p = prepared("sedov", {"sedov.energy=2", "sedov.radius=0.06", "sedov.pressure=1e-6"});
  const double rest = 1e-6 / 0.4;
  for (const int n : {4, 10, 16, 33, 64}) {
    const box b(n);
    EXPECT_NEAR(total(b.fill(*p), b, i_energy), 2 + rest, 2e-13) << n;
  }
}

TEST(SedovProblem, EnergyIsExactOffCentreAndInAnOctant) {
  const auto moved = prepared("sedov", {"sedov.centre=[0.1,-0.07,0.013]"});
  const box b(32);
  EXPECT_NEAR(total(b.fill(*moved), b, i_energy), 1 + 1e-5 / 0.4, 2e-13);
  const auto octant = prepared("sedov", {"sedov.centre=[-0.5,-0.5,-0.5]", "sedov.radius=0.1"});
  EXPECT_NEAR(total(b.fill(*octant), b, i_energy), 0.125 + 1e-5 / 0.4, 2e-13);
}

TEST(SedovProblem, LaterStateHasTheEnergyAndTheMass) {
  const auto p = prepared("sedov");
  const box b(32);
  const auto u = b.fill(*p, 0.08);
  EXPECT_NEAR(total(u, b, i_density), 1, 2e-3);
  EXPECT_NEAR(total(u, b, i_energy), 1, 5e-3);
}

TEST(SedovProblem, MayStartFromTheExactSolution) {
  const auto p = prepared("sedov"), late = prepared("sedov", {"sedov.start_time=0.03"});
  const box b(16);
  EXPECT_EQ(late->references(0)[1].value, p->references(0.03)[1].value);
  EXPECT_EQ(b.fill(*late, 0.01), b.fill(*p, 0.04));
  const auto u = b.fill(*late, 0);
  for (std::size_t c = 0; c < b.size(); ++c) EXPECT_GE(u[c], 1e-3);
  EXPECT_EQ(late->exact_profile(0.02).rows, p->exact_profile(0.05).rows);
}

TEST(SedovProblem, ReferencesNameTheShock) {
  const auto p = prepared("sedov");
  const auto values = p->references(0.05);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[1].name, "shock_radius");
  EXPECT_NEAR(values[1].value, std::pow(0.05 * 0.05 / 0.851072, 0.2), 1e-6);
  const auto profile = p->exact_profile(0.05);
  EXPECT_EQ(profile.columns[0], "r");
  for (std::size_t i = 1; i < profile.rows.size(); ++i) EXPECT_GT(profile.rows[i][0], profile.rows[i - 1][0]);
  EXPECT_GT(profile.rows.back()[0], 0.866);  // to the corner of the box
}

TEST(SedovProblem, CentreOutsideOfTheBoxIsRefused) {
  auto p = make_problem("sedov").value();
  config_table table;
  p->describe(table);
  table.set("sedov.centre=[0.7,0,0]").value();
  const auto r = p->prepare({});
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("sedov.centre"), std::string::npos);
}

}  // namespace
}  // namespace plx::star
