#include "star/problems/given_functions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numbers>

#include "base/file.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::prepared;
using testing::HasSubstr;

std::string complaint(const std::string& text) {
  const auto t = parse_radial_table(text, "t.csv");
  return t ? "no error" : t.error().message;
}

TEST(RadialTable, IsLinearBetweenItsRows) {
  const radial_table t =
      parse_radial_table("# a star\ndensity r  pressure velocity\n2 1 4 3\n\n1, 2, 8, 5\r\n", "t.csv").value();
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_TRUE(t.has_pressure);
  EXPECT_EQ(t.at(1.5).density, 1.5);
  EXPECT_EQ(t.at(1.5).pressure, 6.0);
  EXPECT_EQ(t.at(1.25).velocity, 3.5);
  EXPECT_EQ(t.at(2.0).density, 1.0);
  EXPECT_EQ(t.at(0.5).density, 2.0);   // the first row
  EXPECT_EQ(t.at(0.5).velocity, 1.5);  // at rest in the centre
}

TEST(RadialTable, WrongTablesAreRefusedWithTheLine) {
  EXPECT_EQ(complaint("r,density,pressure\n0,1,1\n0,1,1\n"), "t.csv:3: expected r to ascend from 0 or above, found 0");
  EXPECT_EQ(complaint("r,density,pressure\n0,1\n"), "t.csv:2: expected 3 numbers, found 2");
  EXPECT_EQ(complaint("r,density,pressure\n0,1,x\n"), "t.csv:2: expected a finite number, found 'x'");
  EXPECT_EQ(complaint("r,density,pressure\n0,1,0\n"), "t.csv:2: expected density and pressure above 0, found 1 and 0");
  EXPECT_EQ(complaint("r,density,pressure\n0,1,1\n"),
            "t.csv: expected a line of column names and at least two rows, found 1 row");
  EXPECT_THAT(complaint("0 1 1\n"), HasSubstr("t.csv:1: expected the columns r, density, pressure or"));
  EXPECT_THAT(complaint("r densty pressure\n"), HasSubstr("found 'densty'; did you mean 'density'?"));
  EXPECT_THAT(complaint("r density\n"), HasSubstr("found r density"));
  EXPECT_THAT(complaint("r r density\n"), HasSubstr("found 'r' twice"));
  EXPECT_THAT(complaint(""), HasSubstr("found 0 rows"));
}

class Profile : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("plx_profile_" + std::to_string(getpid()) + ".csv");
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string table(const std::string& text) {
    write_file(path_, text).value();
    return "profile.file=" + path_;
  }
  std::string path_;
};

// rho = 2 - r up to 0.4: the mass is 4 pi (2/3 r^3 - 1/4 r^4), and p = (gamma - 1) rho e.
TEST_F(Profile, HasTheMassOfItsTableAndTheAmbientBeyond) {
  const auto p = prepared(
      "profile", {table("r density internal_energy\n0 2 1\n0.4 1.6 1\n"), "profile.centre=[0.01,0.02,-0.03]",
                  "profile.velocity=[3,0,0]", "profile.ambient_density=1e-3", "profile.ambient_pressure=1e-4"});
  const primitive inside = p->at({0.11, 0.02, -0.03}, 0), outside = p->at({0.5, 0.5, 0.5}, 0);
  EXPECT_DOUBLE_EQ(inside.density, 1.9);
  EXPECT_DOUBLE_EQ(inside.pressure, 0.4 * 1.9);
  EXPECT_EQ(inside.velocity[0], 3.0);
  EXPECT_EQ(outside.density, 1e-3);
  EXPECT_EQ(outside.pressure, 1e-4);
  EXPECT_EQ(outside.velocity[0], 3.0);
  const box b(32);
  const auto u = b.fill(*p);
  double mass = 0.0;
  for (std::size_t c = 0; c < b.size(); ++c) mass += u[c] * b.volume();
  const double r = 0.4, body = 4 * std::numbers::pi * (2.0 / 3 * r * r * r - 0.25 * r * r * r * r);
  const double ambient = 1e-3 * (1 - 4 * std::numbers::pi / 3 * r * r * r);
  EXPECT_NEAR(mass, body + ambient, 2e-4 * body);
}

TEST_F(Profile, AddsTheRadialVelocity) {
  const auto p =
      prepared("profile", {table("r density pressure velocity\n0 1 1 0\n1 1 1 2\n"), "profile.velocity=[1,0,0]"});
  const primitive w = p->at({0.3, 0.4, 0}, 0);
  EXPECT_DOUBLE_EQ(w.velocity[0], 1 + 0.6);
  EXPECT_DOUBLE_EQ(w.velocity[1], 0.8);
}

TEST_F(Profile, InCgsIsConvertedByTheUnits) {
  problem_setting s;
  s.code_units = {.length_cm = 1e10, .mass_g = 1e30, .time_s = 10.0, .known = true};
  const auto p = prepared("profile", {table("r density pressure\n0 2 5e9\n1e10 2 5e9\n"), "profile.cgs=true"}, s);
  EXPECT_DOUBLE_EQ(p->at({0.5, 0, 0}, 0).density, 2.0);
  EXPECT_DOUBLE_EQ(p->at({0.5, 0, 0}, 0).pressure, 5e9 * 1e10 * 100 / 1e30);
}

TEST_F(Profile, WithoutATableOrUnitsIsRefused) {
  EXPECT_TRUE(test::is_refused("profile", "profile.file="));
  EXPECT_TRUE(test::is_refused("profile", "profile.file=/no/such/file"));
  config_table t;
  const auto p = make_problem("profile").value();
  p->describe(t);
  t.set(table("r density pressure\n0 2 5\n1 2 5\n")).value();
  t.set("profile.cgs=true").value();
  EXPECT_EQ(p->prepare({}).error().message, "profile.cgs: expected [units] in the input, found none");
}

}  // namespace
}  // namespace plx::star
