#include "base/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/file.hpp"

namespace {

using testing::HasSubstr;

struct options {
  double cfl = 0.4;
  std::string flux = "hllc";
  int max_level = 3;
  std::int64_t seed = 7;
  bool verbose = false;
  std::array<int, 3> root_blocks{1, 1, 1};
  std::array<double, 3> lower{0, 0, 0};
  std::vector<double> times;
  std::vector<std::string> fields{"rho"};
  std::string name = "none";

  void describe(plx::config_table& t) {
    t.add("name", name, {.help = "Name of the run"});
    t.section("hydro", "Hydrodynamics");
    t.add("hydro.cfl", cfl, {.unit = "1", .help = "Courant number", .max = 1, .above = 0});
    t.add("hydro.flux", flux, {.help = "Riemann solver", .choices = {"hllc", "hll", "lax_friedrichs"}});
    t.section("mesh", "Mesh");
    t.add("mesh.max_level", max_level, {.help = "Finest level", .min = 0, .max = 21});
    t.add("mesh.root_blocks", root_blocks, {.help = "Blocks of the root grid", .min = 1});
    t.add("mesh.lower", lower, {.unit = "length"});
    t.add("run.seed", seed);
    t.add("run.verbose", verbose);
    t.add("run.times", times, {.unit = "s", .min = 0});
    t.add("run.fields", fields, {.choices = {"rho", "press", "vel"}});
  }
};

struct fixture {
  options o;
  plx::config_table t;
  fixture() { o.describe(t); }
  std::string load_error(std::string_view text) {
    const auto r = t.load_text(text, "x.toml");
    return r ? "no error" : r.error().message;
  }
  std::string set_error(std::string_view text) {
    const auto r = t.set(text);
    return r ? "no error" : r.error().message;
  }
};

TEST(Config, AFileSetsMembersOfEveryType) {
  fixture f;
  EXPECT_EQ(f.load_error(R"(name = "sedov"
[hydro]
cfl = 1          # an integer is a number
flux = "hll"
[mesh]
max_level = 4
root_blocks = [2, 3, 4]
lower = [-1, 0.5, 1e-3]
[run]
seed = 9000000000
verbose = true
times = [0.5, 1]
fields = ["press", "vel"]
)"),
            "no error");
  EXPECT_EQ(f.o.name, "sedov");
  EXPECT_EQ(f.o.cfl, 1.0);
  EXPECT_EQ(f.o.flux, "hll");
  EXPECT_EQ(f.o.max_level, 4);
  EXPECT_EQ(f.o.root_blocks, (std::array<int, 3>{2, 3, 4}));
  EXPECT_EQ(f.o.lower, (std::array<double, 3>{-1, 0.5, 1e-3}));
  EXPECT_EQ(f.o.seed, 9000000000);
  EXPECT_TRUE(f.o.verbose);
  EXPECT_EQ(f.o.times, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(f.o.fields, (std::vector<std::string>{"press", "vel"}));
}

TEST(Config, SetTakesValuesAsInTomlAndStringsWithoutQuotes) {
  fixture f;
  EXPECT_EQ(f.set_error("mesh.max_level=5"), "no error");
  EXPECT_EQ(f.set_error("mesh.root_blocks=[2,2,2]"), "no error");
  EXPECT_EQ(f.set_error("hydro.flux=hll"), "no error");
  EXPECT_EQ(f.set_error("run.verbose = true"), "no error");
  EXPECT_EQ(f.o.max_level, 5);
  EXPECT_EQ(f.o.root_blocks[2], 2);
  EXPECT_EQ(f.o.flux, "hll");
  EXPECT_TRUE(f.o.verbose);
  EXPECT_EQ(f.set_error("name=\"in quotes\""), "no error");
  EXPECT_EQ(f.o.name, "in quotes");
  EXPECT_EQ(f.set_error("name=42"), "no error");
  EXPECT_EQ(f.o.name, "42");
  EXPECT_EQ(f.set_error("name=a=b [c]"), "no error");
  EXPECT_EQ(f.o.name, "a=b [c]");
}

TEST(Config, WrongInputIsOneLineWithLocationAndRemedy) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"[mesh]\nmax_lvl = 4", "x.toml:2:1: unknown key 'mesh.max_lvl'; did you mean 'mesh.max_level'?"},
      {"max_level = 4", "x.toml:1:1: unknown key 'max_level'; did you mean 'mesh.max_level'?"},
      {"[hydro]\nviscosity_of_gas = 4", "x.toml:2:1: unknown key 'hydro.viscosity_of_gas'; [hydro] has cfl, flux"},
      {"[mash]\nmax_level = 4", "x.toml:1:2: unknown section 'mash'; did you mean 'mesh'?"},
      {"zzzzzzzzz = 4", "x.toml:1:1: unknown key 'zzzzzzzzz'; sections are hydro, mesh, run"},
      {"mesh = 3", "x.toml:1:8: 'mesh' is a section with keys of its own, found the integer 3"},
      {"[hydro]\ncfl = \"fast\"", "x.toml:2:7: 'hydro.cfl' expects a number, found the string \"fast\""},
      {"[hydro.cfl]\nx = 1", "x.toml:1:1: 'hydro.cfl' expects a number, found a section"},
      {"[mesh]\nmax_level = 2.0", "x.toml:2:13: 'mesh.max_level' expects an integer, found the number 2.0"},
      {"[run]\nverbose = 1", "x.toml:2:11: 'run.verbose' expects a boolean, found the integer 1"},
      {"[hydro]\ncfl = [0.1]", "x.toml:2:7: 'hydro.cfl' expects a number, found an array of 1"},
      {"[hydro]\ncfl = 0.0", "x.toml:2:7: 'hydro.cfl' must be in (0, 1], found 0.0"},
      {"[hydro]\ncfl = nan", "x.toml:2:7: 'hydro.cfl' must be in (0, 1], found nan"},
      {"[hydro]\ncfl = inf", "x.toml:2:7: 'hydro.cfl' must be finite, found inf"},
      {"[mesh]\nmax_level = 22", "x.toml:2:13: 'mesh.max_level' must be in [0, 21], found 22"},
      {"[hydro]\nflux = \"hlcc\"",
       "x.toml:2:8: 'hydro.flux' must be one of hllc, hll, lax_friedrichs, found \"hlcc\"; did you mean 'hllc'?"},
      {"[mesh]\nroot_blocks = 2",
       "x.toml:2:15: 'mesh.root_blocks' expects an array of 3 integers, found the integer 2"},
      {"[mesh]\nroot_blocks = [2, 2]",
       "x.toml:2:15: 'mesh.root_blocks' expects an array of 3 integers, found an array of 2"},
      {"[mesh]\nroot_blocks = [2, 2.5, 2]",
       "x.toml:2:19: 'mesh.root_blocks' expects an array of 3 integers, found the number 2.5 in it"},
      {"[mesh]\nroot_blocks = [2, 0, 2]", "x.toml:2:19: 'mesh.root_blocks' must be >= 1, found 0"},
      {"[mesh]\nroot_blocks = [2, 3000000000, 2]",
       "x.toml:2:19: 'mesh.root_blocks' must be in [-2147483648, 2147483647], found 3000000000"},
      {"[run]\ntimes = [1, -1]", "x.toml:2:13: 'run.times' must be >= 0, found -1.0"},
      {"[run]\nfields = [\"tho\"]",
       "x.toml:2:11: 'run.fields' must be one of rho, press, vel, found \"tho\"; did you mean 'rho'?"},
      {"[run]\ntimes = [0.1]\nzeed = 1\n[mesh]\nx = 99",
       "x.toml:3:1: unknown key 'run.zeed'; did you mean 'run.seed'?"},
  };
  for (const auto& c : cases) {
    fixture f;
    EXPECT_EQ(f.load_error(c.text), c.message) << c.text;
  }
}

TEST(Config, BrokenTomlIsReportedWithItsLocation) {
  fixture f;
  const std::string message = f.load_error("[hydro]\ncfl = = 3\n");
  EXPECT_THAT(message, testing::StartsWith("x.toml:2:7: "));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(Config, AMissingFileIsNamed) {
  fixture f;
  const auto r = f.t.load_file("/nowhere/x.toml");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().message, "cannot read '/nowhere/x.toml': No such file or directory");
}

TEST(Config, WrongAssignmentsAreOneLine) {
  fixture f;
  EXPECT_EQ(f.set_error("mesh.max_level"), "--set mesh.max_level: expected key=value");
  EXPECT_EQ(f.set_error("mesh.maxlevel=4"),
            "--set mesh.maxlevel=4: unknown key 'mesh.maxlevel'; did you mean 'mesh.max_level'?");
  EXPECT_EQ(f.set_error("mesh.max_level=abc"),
            "--set mesh.max_level=abc: 'mesh.max_level' expects an integer, found 'abc'");
  EXPECT_EQ(f.set_error("mesh.max_level=4\nx=3"),
            "--set mesh.max_level=4 x=3: 'mesh.max_level' expects an integer, found '4 x=3'");
  EXPECT_EQ(f.set_error("mesh.max_level=99"), "--set mesh.max_level=99: 'mesh.max_level' must be in [0, 21], found 99");
  EXPECT_EQ(f.set_error("mesh.root_blocks=[1,2]"),
            "--set mesh.root_blocks=[1,2]: 'mesh.root_blocks' expects an array of 3 integers, found an array of 2");
}

TEST(Config, AnErrorChangesNothing) {
  fixture f;
  EXPECT_NE(f.load_error("[hydro]\ncfl = 0.1\nflux = \"no\""), "no error");
  EXPECT_EQ(f.o.cfl, 0.4);
  EXPECT_EQ(f.t.source("hydro.cfl"), "default");
}

TEST(Config, SourcesAreFileLineOrAssignment) {
  fixture f;
  ASSERT_EQ(f.load_error("[hydro]\ncfl = 0.1\n"), "no error");
  ASSERT_EQ(f.set_error("mesh.max_level=4"), "no error");
  const std::string text = f.t.text_effective();
  EXPECT_THAT(text, testing::ContainsRegex("hydro.cfl = 0.1 +# x.toml:2\n"));
  EXPECT_THAT(text, testing::ContainsRegex("mesh.max_level = 4 +# --set\n"));
  EXPECT_THAT(text, testing::ContainsRegex("hydro.flux = \"hllc\" +# default\n"));
}

TEST(Config, TomlRoundTripsToTheLastBit) {
  fixture a;
  a.o.cfl = 0.1 + 0.2;
  a.o.lower = {1.0 / 3, -1e300, 5e-324};
  a.o.times = {std::numeric_limits<double>::max(), 3.0, std::nextafter(1.0, 2.0)};
  a.o.seed = std::numeric_limits<std::int64_t>::min();
  a.o.name = "quote \" backslash \\ line\nbreak \x01 tab\t #";
  a.o.verbose = true;
  a.o.fields = {};
  fixture b;
  ASSERT_EQ(b.load_error(a.t.toml()), "no error") << a.t.toml();
  EXPECT_EQ(b.o.cfl, a.o.cfl);
  EXPECT_EQ(b.o.lower, a.o.lower);
  EXPECT_EQ(b.o.times, a.o.times);
  EXPECT_EQ(b.o.seed, a.o.seed);
  EXPECT_EQ(b.o.name, a.o.name);
  EXPECT_EQ(b.o.fields, a.o.fields);
  EXPECT_EQ(b.t.toml(), a.t.toml());
}

TEST(Config, OptionsShowDefaultsNotPresentValues) {
  fixture f;
  ASSERT_EQ(f.set_error("hydro.cfl=0.25"), "no error");
  const std::string text = f.t.text_options();
  EXPECT_THAT(text, HasSubstr("[hydro] Hydrodynamics\n"));
  EXPECT_THAT(text, testing::ContainsRegex("  hydro.cfl +number +0.4 +in .0, 1. +Courant number\n"));
  EXPECT_THAT(text, testing::ContainsRegex("  mesh.lower +array of 3 numbers +.0.0, 0.0, 0.0. +length\n"));
  EXPECT_THAT(f.t.markdown(), HasSubstr("| `hydro.cfl` | number | `0.4` | 1 | in (0, 1] | Courant number |\n"));
}

TEST(Config, PeekReadsOneStringWithoutATable) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("plx_peek_" + std::to_string(::getpid()))).string();
  ASSERT_TRUE(plx::write_file(path, "[problem]\nname = \"sod\"\nn = 3\n"));
  EXPECT_EQ(plx::peek_string(path, "problem.name").value(), "sod");
  EXPECT_EQ(plx::peek_string(path, "problem.other").value(), "");
  EXPECT_EQ(plx::peek_string(path, "problem.n").error().message,
            path + ":3:5: 'problem.n' expects a string, found the integer 3");
  std::filesystem::remove(path);
}

TEST(ConfigDeathTest, ContractsOfTheTable) {
  options o;
  plx::config_table t;
  t.add("a", o.cfl);
  EXPECT_DEATH(t.add("a", o.cfl), "e.key=\"a\"");
  EXPECT_DEATH(t.add("b", o.cfl, {.max = 0.1}), "'b' must be <= 0.1, found 0.4");
}

/// An item of a list of sections.
struct picture {
  std::string kind = "slice";
  double position = 0.5;
  std::vector<std::string> fields{"rho"};

  void describe(plx::config_table& t) {
    t.add("output.pictures.kind", kind, {.help = "of the picture", .choices = {"slice", "sum"}});
    t.add("output.pictures.position", position, {.unit = "length", .help = "of a slice", .min = 0});
    t.add("output.pictures.fields", fields);
  }
};

struct listed {
  double interval = 1.0;
  std::string length = "1";
  std::vector<picture> pictures;
  std::vector<plx::named_number> constants;
  plx::config_table t;

  listed() {
    t.section("output", "Output");
    t.add("output.interval", interval);
    t.add("units.length", length, {.takes_number = true});
    t.add_names("fields.constants", constants, {.help = "in formulas"});
    t.add_list("output.pictures", pictures, "Pictures");
  }
  std::string load_error(std::string_view text) {
    const auto r = t.load_text(text, "x.toml");
    return r ? "no error" : r.error().message;
  }
  std::string set_error(std::string_view text) {
    const auto r = t.set(text);
    return r ? "no error" : r.error().message;
  }
};

constexpr const char* two_pictures = R"([output]
interval = 2
[[output.pictures]]
position = 0.25
[[output.pictures]]
kind = "sum"
fields = ["press", "rho"]
[fields.constants]
a = 0.1
big_B2 = 3
)";

TEST(Config, AListOfSectionsMakesAnItemEachAndReadsBackFromItsText) {
  listed f;
  EXPECT_EQ(f.load_error(two_pictures), "no error");
  ASSERT_EQ(f.pictures.size(), 2u);
  EXPECT_EQ(f.pictures[0].kind, "slice");
  EXPECT_EQ(f.pictures[0].position, 0.25);
  EXPECT_EQ(f.pictures[1].kind, "sum");
  EXPECT_EQ(f.pictures[1].position, 0.5);
  EXPECT_EQ(f.pictures[1].fields, (std::vector<std::string>{"press", "rho"}));
  listed g;
  EXPECT_EQ(g.load_error(f.t.toml()), "no error");
  EXPECT_EQ(g.t.toml(), f.t.toml());
  EXPECT_EQ(g.pictures.size(), 2u);
  EXPECT_EQ(g.constants, f.constants);
  EXPECT_THAT(f.t.text_effective(), HasSubstr("output.pictures[1].kind = \"sum\""));
}

TEST(Config, ALaterListReplacesTheEarlierOneAndAFileWithoutItKeepsIt) {
  listed f;
  EXPECT_EQ(f.load_error(two_pictures), "no error");
  EXPECT_EQ(f.load_error("[output]\ninterval = 3"), "no error");
  EXPECT_EQ(f.pictures.size(), 2u);
  EXPECT_EQ(f.set_error("output.pictures=[{kind=\"sum\",position=1}]"), "no error");
  ASSERT_EQ(f.pictures.size(), 1u);
  EXPECT_EQ(f.pictures[0].position, 1.0);
  EXPECT_EQ(f.set_error("output.pictures=[]"), "no error");
  EXPECT_TRUE(f.pictures.empty());
}

TEST(Config, WrongItemsOfAListAreOneLineAndChangeNothing) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"[[output.pictures]]\n[[output.pictures]]\nkinds = \"sum\"",
       "x.toml:3:1: unknown key 'output.pictures.kinds'; did you mean 'output.pictures.kind'?"},
      {"[[output.pictures]]\nkind = \"summ\"",
       "x.toml:2:8: 'output.pictures.kind' must be one of slice, sum, found \"summ\"; did you mean 'sum'?"},
      {"[output.pictures]\nkind = \"sum\"",
       "x.toml:1:1: 'output.pictures' is a list of sections: expected [[output.pictures]], found a section"},
      {"[output]\npictures = [1]",
       "x.toml:2:12: 'output.pictures' is a list of sections: expected [[output.pictures]], found an array of 1"},
      {"[[output.picture]]\nkind = \"sum\"",
       "x.toml:1:10: unknown key 'output.picture'; did you mean 'output.pictures'?"},
      {"[fields.constants]\na = \"1\"", "x.toml:2:5: 'fields.constants.a' expects a number, found the string \"1\""},
      {"[fields.constants]\na = inf", "x.toml:2:1: 'fields.constants.a' must be finite, found inf"},
      {"[fields.constants]\n2a = 1",
       "x.toml:2:1: 'fields.constants.2a': expected a name of letters, digits and _, which begins with a letter"},
  };
  for (const auto& c : cases) {
    listed f;
    EXPECT_EQ(f.load_error(two_pictures), "no error");
    EXPECT_EQ(f.load_error(c.text), c.message) << c.text;
    EXPECT_EQ(f.pictures.size(), 2u);
    EXPECT_EQ(f.constants.size(), 2u);
  }
}

TEST(Config, NumbersHaveNamesThatTheUserChooses) {
  listed f;
  EXPECT_EQ(f.load_error(two_pictures), "no error");
  EXPECT_EQ(f.constants, (std::vector<plx::named_number>{{"a", 0.1}, {"big_B2", 3.0}}));
  EXPECT_EQ(f.set_error("fields.constants.a=0.2"), "no error");
  EXPECT_EQ(f.set_error("fields.constants.c=5"), "no error");
  EXPECT_EQ(f.constants, (std::vector<plx::named_number>{{"a", 0.2}, {"big_B2", 3.0}, {"c", 5.0}}));
  EXPECT_EQ(f.set_error("fields.constants.c=x"), "--set fields.constants.c=x: unknown key 'fields.constants.c'");
  EXPECT_THAT(f.t.toml(), HasSubstr("[fields]\nconstants.a = 0.2\nconstants.big_B2 = 3.0\nconstants.c = 5.0\n"));
}

TEST(Config, ATextKeyMayTakeANumber) {
  listed f;
  EXPECT_EQ(f.load_error("[units]\nlength = 6.96e10"), "no error");
  EXPECT_EQ(f.length, "69600000000.0");
  EXPECT_EQ(f.load_error("[units]\nlength = \"Rsun\""), "no error");
  EXPECT_EQ(f.length, "Rsun");
  EXPECT_EQ(f.load_error("[units]\nlength = true"),
            "x.toml:2:10: 'units.length' expects a string, found the boolean true");
}

TEST(Config, ListsOfOptionsNameItemsAndNumbersByName) {
  listed f;
  EXPECT_THAT(f.t.text_options(), HasSubstr("\n[[output.pictures]] Pictures\n  output.pictures.kind "));
  EXPECT_THAT(f.t.text_options(), HasSubstr("fields.constants.NAME"));
  EXPECT_THAT(f.t.markdown(), HasSubstr("## Pictures (`[[output.pictures]]`)"));
  EXPECT_THAT(f.t.markdown(), HasSubstr("| `fields.constants.NAME` | numbers by name | |  | | in formulas |"));
}

}  // namespace
