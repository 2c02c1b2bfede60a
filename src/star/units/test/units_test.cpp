#include "star/units/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/config.hpp"

namespace plx::star {
namespace {

using testing::HasSubstr;

result<units> units_of(const std::string& toml) {
  unit_options o;
  config_table t;
  o.describe(t);
  if (auto r = t.load_text("[units]\n" + toml, "t"); !r) return r.error();
  return o.make();
}
std::string complaint(const std::string& toml) {
  const auto u = units_of(toml);
  return u ? "no error" : u.error().message;
}

TEST(Units, AreNumbersNamesOrBoth) {
  const units u = units_of("length = \"2 Rsun\"\nmass = 1e33\ntime = \"h\"").value();
  EXPECT_TRUE(u.known);
  EXPECT_EQ(u.length_cm, 2 * 6.957e10);
  EXPECT_EQ(u.mass_g, 1e33);
  EXPECT_EQ(u.time_s, 3600.0);
  EXPECT_EQ(units_of("length = 10\ndensity = 2\ntime = 1").value().mass_g, 2000.0);
  EXPECT_NEAR(units_of("length = 1\nmass = \"Msun\"\ntime = 1").value().mass_g, 1.98841e33, 1e28);
}

TEST(Units, WithoutTheSectionAreUnknown) {
  const units u = units_of("").value();
  EXPECT_FALSE(u.known);
  EXPECT_EQ(u.cgs_of(dimensions::pressure), 1.0);
  EXPECT_EQ(u.name_of(dimensions::pressure), "code");
}

TEST(Units, OfQuantitiesFollow) {
  const units u = units_of("length = 100\nmass = 10\ntime = 5").value();
  EXPECT_DOUBLE_EQ(u.cgs_of(dimensions::density), 1e-5);
  EXPECT_DOUBLE_EQ(u.cgs_of(dimensions::velocity), 20.0);
  EXPECT_DOUBLE_EQ(u.cgs_of(dimensions::pressure), 10.0 / 100 / 25);
  EXPECT_DOUBLE_EQ(u.to_code(u.to_cgs(3.5, dimensions::energy), dimensions::energy), 3.5);
  EXPECT_EQ(u.name_of(dimensions::density), "g cm^-3");
  EXPECT_EQ(u.name_of(dimensions::none), "1");
}

// The orbit of the Earth: G M = (2 pi)^2 au^3 / yr^2.
TEST(Units, GiveTheConstantOfGravity) {
  const units solar = units_of("length = \"au\"\nmass = \"Msun\"\ntime = \"yr\"").value();
  EXPECT_NEAR(solar.gravitational_constant(), 4 * M_PI * M_PI, 2e-3);
  EXPECT_NEAR(units_of("length = \"Rsun\"\nmass = \"Msun\"\ntime = \"gravity\"").value().gravitational_constant(), 1.0,
              1e-15);
}

TEST(Units, WrongOnesAreRefusedInOneLine) {
  EXPECT_EQ(complaint("mass = 1"), "[units]: expected units.length with the others, found none");
  EXPECT_EQ(complaint("length = 1\ntime = 1"), "[units]: expected one of units.mass and units.density, found neither");
  EXPECT_EQ(complaint("length = 1\ntime = 1\nmass = 1\ndensity = 1"),
            "[units]: expected one of units.mass and units.density, found both");
  EXPECT_THAT(complaint("length = 1\nmass = 1"), HasSubstr("expected units.time"));
  EXPECT_THAT(
      complaint("length = \"Rsum\"\nmass = 1\ntime = 1"),
      HasSubstr("units.length = \"Rsum\": expected a number in CGS, a name or both, with a name of cm, m, km, "));
  EXPECT_THAT(complaint("length = \"Rsum\"\nmass = 1\ntime = 1"), HasSubstr("found \"Rsum\"; did you mean 'Rsun'?"));
  EXPECT_THAT(complaint("length = 1\nmass = 1\ntime = \"g\""), HasSubstr("; or \"gravity\""));
  for (const char* wrong : {"0", "-1", "\"-2 cm\"", "\"1e400\"", "\"nan\"", "\"\"", "\"1 2\""})
    EXPECT_NE(complaint("mass = 1\ntime = 1\nlength = " + std::string(wrong)), "no error") << wrong;
}

}  // namespace
}  // namespace plx::star
