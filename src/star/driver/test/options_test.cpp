#include "star/driver/options.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace plx::star {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const char* const text = "[problem]\nname = \"sod\"\n[mesh]\nroot_blocks = [2, 1, 1]\nupper = [2.0, 1.0, 1.0]\n";

TEST(Input, TakesTheOptionsOfItsProblem) {
  auto in = input::from_text(text, "t", {"sod.position=0.25", "run.t_end=3"});
  ASSERT_TRUE(in) << in.error().message;
  EXPECT_EQ(in.value()->problem_name, "sod");
  EXPECT_EQ(in.value()->run.t_end, 3.0);
  EXPECT_FALSE(in.value()->table.knows("sedov.energy"));
  const auto s = in.value()->prepare();
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->domain.root_blocks[0], 2);
  EXPECT_EQ(s->scheme.stages, 3);
}

TEST(Input, TheProblemCanBeSet) {
  EXPECT_TRUE(input::from_text(text, "t", {"problem.name=sedov", "sedov.energy=2"}));
  EXPECT_TRUE(input::from_text("", "t", {"problem.name=\"sedov\""}));
  const auto unknown = input::from_text(text, "t", {"problem.name=sedof"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, StartsWith("--set problem.name=sedof: expected one of advection, "));
  EXPECT_THAT(unknown.error().message, EndsWith("; found 'sedof'; did you mean 'sedov'?"));
  EXPECT_THAT(input::from_text("[problem]\nname = \"sodd\"\n", "t", {}).error().message,
              AllOf(StartsWith("t: problem.name: expected one of "), EndsWith("; found 'sodd'; did you mean 'sod'?")));
}

TEST(Input, RefusesInconsistentOptions) {
  for (const char* wrong : {"mesh.block_size=12", "refinement.gradient_coarsen=0.9", "refinement.regions=[1]",
                            "refinement.regions=[3,4,0,1,0,1,1]", "output.mesh_interval=1e-300"}) {
    auto in = input::from_text(text, "t", {wrong});
    ASSERT_TRUE(in) << in.error().message;
    const auto s = in.value()->prepare();
    ASSERT_FALSE(s) << wrong;
    EXPECT_THAT(s.error().message, HasSubstr(std::string(wrong).substr(0, std::string(wrong).find('='))));
    EXPECT_THAT(s.error().message, Not(HasSubstr("\n")));
  }
}

TEST(Input, InflowIsTheInitialStateAtTheSide) {
  auto in =
      input::from_text(text, "t", {R"(mesh.sides=["inflow","outflow","periodic","periodic","periodic","periodic"])"});
  ASSERT_TRUE(in);
  const auto s = in.value()->prepare();
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_EQ(s->sides.inflow[0].size(), 6u);
  EXPECT_EQ(s->sides.inflow[0][i_density], 1.0);
  EXPECT_TRUE(s->sides.inflow[1].empty());
}

TEST(Input, BoundariesThatTheProblemGives) {
  const std::string sides = R"(mesh.sides=["problem","problem","periodic","periodic","periodic","periodic"])";
  auto in = input::from_text(text, "t", {sides});
  ASSERT_TRUE(in);
  const auto s = in.value()->prepare();
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_TRUE(s->sides.outside);
  double u[6];
  EXPECT_TRUE(s->sides.outside->at(1, {9.0, 0.0, 0.0}, 0.1, u));
  EXPECT_EQ(u[i_density], 0.125);

  auto unknown = input::from_text("[problem]\nname = \"implosion\"\n", "t", {sides});
  ASSERT_TRUE(unknown);
  const auto refused = unknown.value()->prepare();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("mesh.sides[0] = \"problem\": expected a problem that knows"));
  auto full = input::from_text(text, "t", {sides, "run.device=emulated", "hydro.scheme=full3d"});
  ASSERT_TRUE(full);
  EXPECT_THAT(full.value()->prepare().error().message, HasSubstr("run.device = \"cpu\" takes them"));
}

const std::vector<std::string> solar{"units.length=Rsun", "units.mass=Msun", "units.time=gravity"};

std::unique_ptr<input> with_eos(const std::vector<std::string>& more, bool in_units = true) {
  std::vector<std::string> sets = in_units ? solar : std::vector<std::string>{};
  sets.insert(sets.end(), more.begin(), more.end());
  auto in = input::from_text(text, "t", sets);
  EXPECT_TRUE(in) << in.error().message;
  return *std::move(in);
}

// 1.99e33 g, 6.957e10 cm, 1593.8 s: the unit of the density is 5.905 g/cm^3, that of the pressure 1.125e16 dyn/cm^2.
TEST(InputUnits, ConstantsOfMatterFollowFromUnits) {
  const auto dwarf = with_eos({"eos.kind=white_dwarf"});
  const auto s = dwarf->prepare();
  ASSERT_TRUE(s) << s.error().message;
  const units& u = s->code_units;
  EXPECT_NEAR(u.to_cgs(s->hydro.eos.electron_pressure, dimensions::pressure), 6.0023e22, 1e18);
  EXPECT_NEAR(u.to_cgs(s->hydro.eos.electron_density, dimensions::density), 2 * 9.7393e5, 10.0);
  EXPECT_EQ(dwarf->hydro.eos.electron_pressure, 0.0);  // options stay as the input has them
  const auto iron = with_eos({"eos.kind=white_dwarf", "eos.electron_weight=2.154"})->prepare().value();
  EXPECT_NEAR(iron.hydro.eos.electron_density / s->hydro.eos.electron_density, 1.077, 1e-12);
  // Radiation, gas and their sum at 10^7 K and 1 g/cm^3: 8.314e14 / 0.6 and 2.522e13 dyn/cm^2.
  const auto hot = with_eos({"eos.kind=radiation", "eos.molecular_weight=0.6"})->prepare().value();
  EXPECT_NEAR(u.to_cgs(hot.hydro.eos.gas_constant, {2, 0, -2}) * 1e7, 8.3145e14 / 0.6, 1e11);
  EXPECT_NEAR(u.to_cgs(hot.hydro.eos.radiation_constant, dimensions::pressure) * 1e28 / 3, 2.5219e13, 1e9);
  EXPECT_NEAR(hot.kelvin * hot.hydro.eos.gas_constant, 1.0, 1e-14);
  // A gas constant of the input, here twice that of the weight, sets the kelvin; without a weight as well.
  const double twice = 2.0 * hot.hydro.eos.gas_constant;
  for (const char* weight : {"eos.molecular_weight=0.6", "eos.molecular_weight=0"}) {
    const std::string constant = fmt::format("eos.gas_constant={:.17g}", twice);
    const auto given = with_eos({"eos.kind=radiation", weight, constant})->prepare();
    ASSERT_TRUE(given) << given.error().message;
    EXPECT_NEAR(given->kelvin * twice, 1.0, 1e-14) << weight;
    EXPECT_EQ(given->hydro.eos.radiation_constant, hot.hydro.eos.radiation_constant);
  }
}

// Hydrogen and helium, fully ionized: 10^7 K have p / rho = k T / (0.6 m_u) = 1.3857e15 cm^2/s^2.
TEST(InputUnits, ASizeOfKelvinFollowsFromTheMolecularWeight) {
  const auto s = with_eos({"eos.molecular_weight=0.6"})->prepare().value();
  EXPECT_NEAR(s.code_units.to_code(1.38575e15, {2, 0, -2}) * s.kelvin, 1e7, 1e3);
  EXPECT_EQ(with_eos({})->prepare()->kelvin, 0.0);
}

TEST(InputUnits, SpeciesHaveNamesAndWeights) {
  const auto mixture = [](std::vector<std::string> more, bool in_units = true) {
    more.insert(more.begin(), {"problem.name=expressions", "expressions.species=[\"0.25\",\"0.75\"]"});
    return with_eos(more, in_units);
  };
  const auto s = mixture({"species.names=[\"helium\",\"carbon\"]", "species.weights=[1.3333,1.7143]"})->prepare();
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_THAT(s->species.names, testing::ElementsAre("helium", "carbon"));
  // Kelvin are those of k T / m_u.
  EXPECT_NEAR(s->code_units.to_code(0.6 * 1.38575e15, {2, 0, -2}) * s->kelvin, 1e7, 1e3);
  EXPECT_THAT(mixture({})->prepare()->species.names, testing::ElementsAre("species_0", "species_1"));

  const auto error_of = [&](const std::vector<std::string>& sets, bool in_units = true) {
    const auto wrong = mixture(sets, in_units)->prepare();
    return wrong ? std::string() : wrong.error().message;
  };
  EXPECT_EQ(error_of({"species.names=[\"helium\"]"}),
            "species.names: expected 2, one per species of the problem, found 1");
  // Names in variables, history.csv, images, tracers and profiles; s1 and species_1 are the same variable of mesh
  // files.
  for (const char* taken : {"density", "rho", "mass", "out_mass", "step", "x", "z", "y_edges", "tracer", "star",
                            "species", "r_inner", "volume", "density_max", "a_min"})
    EXPECT_THAT(error_of({fmt::format("species.names=[\"a\",\"{}\"]", taken)}),
                testing::AllOf(HasSubstr("species.names: expected names that no other variable, column or dataset"),
                               HasSubstr(fmt::format("found '{}'", taken))));
  EXPECT_THAT(error_of({"species.names=[\"s1\",\"species_1\"]"}), HasSubstr("found 's1'"));
  EXPECT_THAT(error_of({"species.names=[\"helium\",\"species_helium\"]"}), HasSubstr("found 'helium'"));
  for (const char* free : {"species_0", "s0", "stars", "min", "xx"})
    EXPECT_EQ(error_of({fmt::format("species.names=[\"{}\",\"b\"]", free)}), "") << free;
  EXPECT_THAT(error_of({"species.weights=[1.0,4.0]"}, false), HasSubstr("species.weights: expected [units]"));
  EXPECT_THAT(error_of({"species.weights=[1.0,4.0]", "eos.kind=radiation", "eos.molecular_weight=0.6"}),
              HasSubstr("found \"radiation\", whose temperature does not follow"));
}

TEST(InputUnits, ConstantsThatDoNotFitAreRefused) {
  const auto error_of = [](const std::vector<std::string>& sets, bool in_units = true) {
    const auto s = with_eos(sets, in_units)->prepare();
    return s ? std::string() : s.error().message;
  };
  EXPECT_THAT(error_of({"eos.kind=white_dwarf"}, false), HasSubstr("or [units], from which it follows"));
  EXPECT_THAT(error_of({"eos.kind=white_dwarf", "eos.electron_pressure=6.002e22"}),
              HasSubstr("eos.electron_pressure = 6.002e+22: expected about 5.3283e+06"));
  EXPECT_THAT(error_of({"eos.kind=white_dwarf", "eos.electron_density=1.948e6"}),
              HasSubstr("eos.electron_density = 1.948e+06: expected about 3.2985e+05"));
  EXPECT_THAT(error_of({"eos.kind=radiation"}), HasSubstr("eos.molecular_weight"));
  EXPECT_THAT(error_of({"eos.kind=radiation", "eos.gas_constant=1", "eos.radiation_constant=7.566e-15"}),
              HasSubstr("eos.radiation_constant = 7.566e-15: expected about"));
  const std::string weight = "eos.electron_weight=2.154";
  EXPECT_THAT(error_of({weight}), HasSubstr("found eos.kind = \"ideal\"; leave the weight out"));
  EXPECT_THAT(error_of({"eos.kind=white_dwarf", weight, "eos.electron_density=3.5e5"}),
              HasSubstr("found eos.electron_density = 350000"));
  EXPECT_THAT(error_of({"eos.kind=white_dwarf", weight}, false), HasSubstr("found no [units]"));
  EXPECT_THAT(error_of({"eos.molecular_weight=0.6"}, false), HasSubstr("expected [units]"));
  EXPECT_THAT(error_of({"eos.kind=stiffened", "eos.p_inf=1", "eos.molecular_weight=18"}), HasSubstr("stiffened"));
}

// The orbit has the period 2 pi; driving with one of 10^4 would be in seconds.
TEST(Input, ADrivingPeriodIsOneOfTheOrbit) {
  const auto error_of = [](const char* period) {
    auto in = input::from_text(
        "[problem]\nname = \"two_stars\"\n", "t",
        {"two_stars.separation=1", "mesh.lower=[-1,-1,-1]", "mesh.upper=[1,1,1]", "gravity.self=true",
         "gravity.constant=1", "driving.angular_momentum=0.01", std::string("driving.period=") + period});
    EXPECT_TRUE(in) << in.error().message;
    const auto s = in.value()->prepare();
    return s ? std::string() : s.error().message;
  };
  EXPECT_EQ(error_of("6.28"), "");
  EXPECT_EQ(error_of("0.2"), "");
  EXPECT_THAT(error_of("10000"), HasSubstr("driving.period = 10000: expected a time in run.time_unit of the order of "
                                           "the orbital period, 6.283"));
  EXPECT_THAT(error_of("0.01"), HasSubstr("driving.period = 0.01"));
}

TEST(Identity, HoldsThePhysicsOnly) {
  auto a = input::from_text(text, "t", {}), b = input::from_text(text, "t", {"run.t_end=7", "output.precision=double"});
  auto c = input::from_text(text, "t", {"hydro.gamma=1.5"});
  EXPECT_EQ(identity_of(a.value()->table), identity_of(b.value()->table));
  EXPECT_NE(identity_of(a.value()->table), identity_of(c.value()->table));
  EXPECT_THAT(identity_of(a.value()->table), HasSubstr("mesh.root_blocks = [2, 1, 1]\n"));
  EXPECT_THAT(identity_of(a.value()->table), Not(HasSubstr("run.")));
}

TEST(Input, ListsTheOptionsOfAllProblems) {
  for (const char* key : {"sedov.energy", "sod.position", "linear_wave.wave", "mesh.max_level", "output.precision"}) {
    EXPECT_THAT(input::text_options(), HasSubstr(key));
    EXPECT_THAT(input::markdown(), HasSubstr(key));
  }
}

}  // namespace
}  // namespace plx::star
