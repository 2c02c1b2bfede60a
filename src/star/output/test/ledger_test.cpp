#include "star/output/ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace plx::star {
namespace {

using rule = ledger_row::rule;
using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const char* const box = "[mesh]\nlower = [-1, -1, -1]\nupper = [1, 1, 1]\n";

struct books {
  std::unique_ptr<input> in;
  setup s;
  std::unique_ptr<ledger> of;

  explicit books(std::vector<std::string> sets, const char* problem = "problem.name=sod") {
    sets.insert(sets.begin(), problem);
    in = input::from_text(box, "t", sets).value();
    s = in->prepare().value();
    of = std::make_unique<ledger>(*in, s);
  }
  /// Totals: mass, energy, then `sums`; zero otherwise.
  void take(std::int64_t step, double mass, double energy, std::vector<double> sums = {}, double mass_left = 0,
            double energy_left = 0, double energy_added = 0) {
    ledger::values v{step,
                     {mass, 0, 0, 0, energy, 1},
                     {mass_left, 0, 0, 0, energy_left, 0},
                     {step, 0, 0},
                     {0, 0, 0, 0, energy_added, 0}};
    v.totals.insert(v.totals.end(), sums.begin(), sums.end());
    of->take(v);
  }
  ledger_row row(const std::string& name) const {
    for (const ledger_row& r : of->rows())
      if (r.quantity == name) return r;
    ADD_FAILURE() << "no row " << name;
    return {};
  }
};

TEST(Ledger, TheRemainderIsWhatDidNotLeave) {
  books b({});
  b.take(3, 2.0, 4.0, {}, 0.5);
  b.take(4, 1.75, 4.5, {}, 1.0);
  const ledger_row mass = b.row("mass"), energy = b.row("energy");
  EXPECT_EQ(mass.conserved, rule::exact);
  EXPECT_EQ(mass.start, 2.0);
  EXPECT_EQ(mass.change, -0.25);
  EXPECT_EQ(mass.boundaries, -0.5);
  EXPECT_EQ(mass.relative(), 0.125);
  EXPECT_EQ(energy.relative(), 0.125);
  EXPECT_EQ(b.row("momentum_x").scale, 4.0);  // sqrt(2 M E)
  EXPECT_EQ(b.of->floors()[0], 1);
  EXPECT_THAT(b.of->text(), HasSubstr("since step 3"));
  EXPECT_THAT(b.of->text(), HasSubstr("floors raised the density of 1 cell and"));
}

TEST(Ledger, AdditionsOfFloorsAreNoRemainderButCountForTheLimit) {
  books b({});
  b.take(3, 2.0, 4.0, {}, 0, 0, 1.0);
  b.take(4, 2.0, 4.5, {}, 0, 0.25, 2.0);
  const ledger_row energy = b.row("energy");
  EXPECT_EQ(energy.floors, 1.0);
  EXPECT_EQ(energy.relative(), -0.0625);  // 4.5 - 4 + 0.25 - 1
  EXPECT_EQ(energy.relative_error(), 0.3125);
  EXPECT_THAT(b.of->text(), HasSubstr("boundaries      floors"));

  books disk({"gravity.point_mass=1", "gravity.point_mass_softening=0.1"});  // conserved to the order of the scheme
  disk.take(1, 1, 8, {0, 0, 0, -2});
  disk.take(2, 1, 9, {0, 0, 0, -2}, 0, 0, 0.5);
  EXPECT_EQ(disk.row("energy").relative_error(), 0.05);

  books other({});
  ASSERT_TRUE(other.of->restore(b.of->state()));
  for (books* one : {&b, &other}) one->take(5, 2.0, 4.5, {}, 0, 0.25, 3.0);
  EXPECT_EQ(other.row("energy").floors, 2.0);
  EXPECT_EQ(b.of->json(), other.of->json());
  std::vector<double> shorter = b.of->state();
  shorter.resize(shorter.size() - 7);
  EXPECT_FALSE(other.of->restore(shorter));
}

// The potential energy of the initial state is that at the start of step 1; regrids change it between steps.
TEST(Ledger, TheEnergyOfGravityCountsWithoutRegrids) {
  books b({"gravity.self=true"});
  // sums: angular momentum x, y, z; gravity_energy_start, gravity_energy
  b.take(0, 1, 8, {nan, nan, nan, nan, nan});
  EXPECT_EQ(b.row("energy").conserved, rule::open);
  b.take(1, 1, 7, {0, 0, 0, -4, -3});
  b.take(2, 1, 6, {0, 0, 0, -3.5, -2.5});
  b.take(3, 1, 6.25, {0, 0, 0, -2.25, -2.25});
  const ledger_row energy = b.row("energy");
  EXPECT_EQ(energy.conserved, rule::exact);
  EXPECT_EQ(energy.start, 4.0);
  EXPECT_EQ(energy.change, 0.0);
  EXPECT_EQ(energy.regrids, -0.25);  // -0.5 before step 2, +0.25 before step 3
  EXPECT_EQ(energy.relative(), 0.25 / 12.0);
}

// With a row at the start and one at the end the change of the energy is not known, and is not 0.
TEST(Ledger, OnePotentialMakesNoChange) {
  books b({"gravity.self=true"});
  b.take(0, 1, 8, {nan, nan, nan, nan, nan});
  b.take(4, 1, 7, {0, 0, 0, -4, -3});
  EXPECT_EQ(b.row("energy").conserved, rule::open);
  EXPECT_THAT(b.of->text(), HasSubstr("the potential is known at one step only: output.history_interval is too long"));
  b.take(8, 1, 6, {0, 0, 0, -3, -2});
  EXPECT_EQ(b.row("energy").conserved, rule::exact);
  EXPECT_EQ(b.row("energy").relative(), 0.0);
}

TEST(Ledger, RegridsAreUnknownWithoutARowPerStep) {
  books b({"gravity.self=true", "mesh.max_level=1"});
  for (const int step : {0, 10, 20}) b.take(step, 1, 8, {0, 0, 0, step == 0 ? nan : -3, step == 0 ? nan : -3});
  EXPECT_EQ(b.row("energy").conserved, rule::open);
  EXPECT_THAT(b.row("energy").note, HasSubstr("output.history_interval"));
}

TEST(Ledger, DrivingIsASource) {
  books b({"driving.angular_momentum=0.1", "driving.heating=0.1", "driving.period=1"});
  b.take(0, 1, 8, {0, 0, 0});
  b.take(1, 1, 8.5, {-0.25, 0.125, 0.25});
  b.of->take_rotation(2.0), b.of->take_rotation(1.5);
  EXPECT_EQ(b.row("energy").sources, 0.375);
  EXPECT_EQ(b.row("energy").relative(), 0.125 / 8);
  EXPECT_EQ(b.row("angular_momentum_z").sources, -0.25);
  EXPECT_EQ(b.row("angular_momentum_z").relative(), -0.125);
  EXPECT_EQ(b.row("momentum_x").conserved, rule::open);
  EXPECT_EQ(b.row("momentum_z").conserved, rule::exact);
}

TEST(Ledger, SaysWhatTheSchemeDoesNotConserve) {
  books disk({"gravity.point_mass=1", "gravity.point_mass_softening=0.1"});
  disk.take(0, 1, 8, {nan, nan, nan, nan});
  disk.take(1, 1, 8, {0, 0, 0, -2});
  disk.take(2, 1, 8, {0, 0, 0, -2});
  disk.of->take_rotation(1.0);
  EXPECT_EQ(disk.row("mass").conserved, rule::exact);
  EXPECT_EQ(disk.row("energy").conserved, rule::order);
  EXPECT_EQ(disk.row("momentum_z").conserved, rule::open);
  EXPECT_EQ(disk.row("angular_momentum_z").conserved, rule::order);

  const std::string sides = R"(mesh.sides=["zero_gradient","zero_gradient","zero_gradient","zero_gradient",)";
  books turning({"frame.omega=1", sides + R"("outflow","outflow"])"});
  turning.take(0, 1, 8);
  EXPECT_EQ(turning.row("momentum_x").conserved, rule::open);
  EXPECT_EQ(turning.row("momentum_z").conserved, rule::exact);
  EXPECT_EQ(turning.row("energy").conserved, rule::exact);

  books periodic({R"(mesh.sides=["periodic","periodic","outflow","outflow","outflow","outflow"])"});
  periodic.take(0, 1, 8);
  periodic.of->take_rotation(1.0);
  EXPECT_EQ(periodic.row("angular_momentum_z").conserved, rule::open);
  EXPECT_THAT(periodic.of->json(), HasSubstr("\"note\": \"periodic boundaries\""));
}

TEST(Ledger, ContinuesFromItsState) {
  books one({"gravity.self=true", "mesh.max_level=1"}), other({"gravity.self=true", "mesh.max_level=1"});
  one.take(0, 1, 8, {nan, nan, nan, nan, nan});
  one.of->take_rotation(1.0);
  one.take(1, 1, 7, {0, 0, 0, -4, -3}, 0.25);
  ASSERT_TRUE(other.of->restore(one.of->state()));
  for (books* b : {&one, &other}) b->take(2, 1, 6, {0, 0, 0, -3.5, -2.5}, 0.5), b->of->take_rotation(2.0);
  EXPECT_EQ(one.of->json(), other.of->json());
  EXPECT_EQ(one.row("energy").regrids, -0.5);
  books without({"mesh.max_level=1"});
  EXPECT_FALSE(without.of->restore(one.of->state()));
  EXPECT_FALSE(without.of->has_start());
}

}  // namespace
}  // namespace plx::star
