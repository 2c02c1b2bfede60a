#include "qmc/dca/dca_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qmc/dca/options.hpp"

namespace plx::qmc {
namespace {

using testing::AllOf, testing::Contains, testing::HasSubstr, testing::Not;

// The standard problem, with the groups and keys of an input of DCA++.
const std::string standard = R"({
  "output": { "directory": "./T=0.08", "output-format": "HDF5" },
  "physics": { "beta": 12.5, "density": 0.95, "chemical-potential": 0.0, "adjust-chemical-potential": true },
  "single-band-Hubbard-model": { "t": 1.0, "t-prime": 0.0, "U": 6 },
  "DCA": {
    "initial-self-energy": "zero", "iterations": 6, "accuracy": 0.0, "self-energy-mixing-factor": 0.75,
    "interacting-orbitals": [0],
    "coarse-graining": { "k-mesh-recursion": 3, "periods": 2, "quadrature-rule": 1, "threads": 1 },
    "DCA+": { "do-DCA+": false }
  },
  "domains": {
    "real-space-grids": { "cluster": [[2, 0], [0, 2]], "sp-host": [[20, 20], [20, -20]] },
    "imaginary-time": { "sp-time-intervals": 512 },
    "imaginary-frequency": { "sp-fermionic-frequencies": 512, "four-point-fermionic-frequencies": 16 }
  },
  "Monte-Carlo-integration": {
    "seed": 985456376, "warm-up-sweeps": 100, "sweeps-per-measurement": 1.5, "measurements": 100000,
    "threaded-solver": { "walkers": 3, "accumulators": 5 }
  },
  "CT-AUX": { "expansion-parameter-K": 2.0, "initial-matrix-size": 64, "submatrix-size": 16 },
  "four-point": { "type": "PARTICLE_PARTICLE_UP_DOWN", "momentum-transfer": [0.0, 0.0], "frequency-transfer": 0 }
})";

// The input with a text replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = standard;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

dca_options options_of(const std::string& text) {
  dca_options o;
  config_table t;
  o.describe(t);
  const auto read = read_dca_json(text, "input.json");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  if (!read) return o;
  for (const auto& a : read->assignments) {
    const auto set = t.set(a);
    EXPECT_TRUE(set) << a << ": " << (set ? "" : set.error().message);
  }
  return o;
}

std::vector<std::string> notes_of(const std::string& text) {
  const auto read = read_dca_json(text, "input.json");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read ? read->notes : std::vector<std::string>();
}

TEST(DcaJson, TheStandardProblemIsReadAsItIs) {
  const auto o = options_of(standard);
  EXPECT_TRUE(o.check());
  EXPECT_EQ(o.u, 6);
  EXPECT_EQ(o.density, 0.95);
  ASSERT_EQ(o.temperatures.size(), 1u);
  EXPECT_DOUBLE_EQ(o.temperatures[0], 0.08);
  EXPECT_EQ(o.vectors, (std::vector<int>{2, 0, 0, 2}));
  EXPECT_TRUE(o.lattice);
  EXPECT_EQ(o.first_iterations, 6);
  EXPECT_EQ(o.iterations, 6);
  EXPECT_EQ(o.mixing, 0.75);
  EXPECT_EQ(o.frequencies, 512);
  EXPECT_EQ(o.pair_frequencies, 16);
  EXPECT_EQ(o.seed, 985456376);
  EXPECT_EQ(o.measurements, 100000);
  EXPECT_EQ(o.walkers, 3);
  EXPECT_EQ(o.sweeps, 1.5);
  EXPECT_EQ(o.expansion_k, 2);
  EXPECT_EQ(o.batch, 16);
  EXPECT_GT(o.warm_up, 5000);  // 100 sweeps at an order above 50
}

TEST(DcaJson, EnergiesAreInUnitsOfTheHopping) {
  auto text = changed("\"t\": 1.0", "\"t\": 2.0");
  const auto o = options_of(text);
  EXPECT_EQ(o.u, 3);
  EXPECT_DOUBLE_EQ(o.temperatures[0], 0.04);
}

TEST(DcaJson, OtherWaysToWriteTheSame) {
  EXPECT_EQ(
      options_of(changed("\"measurements\": 100000", "\"measurements-per-process-and-accumulator\": 20")).measurements,
      100);
  EXPECT_EQ(options_of(changed("\"measurements\": 100000", "\"measurements\": [10, 500]")).measurements, 500);
  EXPECT_EQ(options_of(changed("\"type\": \"PARTICLE_PARTICLE_UP_DOWN\"", "\"channels\": [\"NONE\"]")).pair_frequencies,
            0);
  EXPECT_FALSE(options_of(changed("\"iterations\": 6", "\"iterations\": 6, \"do-finite-size-QMC\": true")).lattice);
  EXPECT_THAT(notes_of(changed("\"zero\"", "\"T=0.1/dca.hdf5\"")), Contains(HasSubstr("DCA/initial-self-energy")));
}

TEST(DcaJson, AChemicalPotentialThatIsFixed) {
  const auto o = options_of(changed("\"chemical-potential\": 0.0, \"adjust-chemical-potential\": true",
                                    "\"chemical-potential\": -1.5, \"adjust-chemical-potential\": false"));
  EXPECT_FALSE(o.adjust_mu);
  EXPECT_EQ(o.mu, -1.5);
  EXPECT_TRUE(o.check());
  EXPECT_TRUE(options_of(standard).adjust_mu);
}

// A list has a number per iteration.
TEST(DcaJson, ListsOfIterations) {
  const std::string one = "\"sweeps-per-measurement\": 1.5, \"measurements\": 100000";
  const auto lists = changed(one, "\"sweeps-per-measurement\": [1, 0.5, 2.5], \"measurements\": [100, 200, 400]");
  EXPECT_EQ(options_of(lists).sweeps, 2.5);
  EXPECT_EQ(options_of(lists).measurements, 400);
  EXPECT_THAT(notes_of(lists),
              Contains(AllOf(HasSubstr("sweeps-per-measurement"), HasSubstr("the last number of the list, 2.5"))));
  EXPECT_THAT(notes_of(lists),
              Contains(HasSubstr("/measurements: all iterations use the last number of the list, 400")));
  // Equal numbers need no note.
  EXPECT_THAT(notes_of(changed(one, "\"sweeps-per-measurement\": [2], \"measurements\": [400, 400]")),
              Not(Contains(HasSubstr("all iterations"))));
}

// Keys without a counterpart are named once, in one line.
TEST(DcaJson, KeysWithoutEffectAreNamedOnce) {
  EXPECT_THAT(notes_of(standard),
              Contains(AllOf(HasSubstr("without effect on the run: "), HasSubstr(", output"),
                             HasSubstr("DCA/coarse-graining"), HasSubstr("CT-AUX/initial-matrix-size"))));
  EXPECT_THAT(notes_of(standard), Not(Contains(HasSubstr("physics"))));
  const auto more = changed("\"CT-AUX\": {",
                            R"("CT-INT": { "alpha-dd-pos": 0.5, "use-submatrix": true }, "Hund-model": { "Jh": 2 },
      "analysis": {}, "CT-AUX": { "neglect-Bennett-updates": false, "initial-configuration-size": 10, )");
  for (const char* word : {"CT-INT", "Hund-model", "analysis", "neglect-Bennett-updates"})
    EXPECT_THAT(notes_of(more), Contains(HasSubstr(word)));
  const auto threads = changed("\"accumulators\": 5",
                               R"("accumulators": 5, "shared-walk-and-accumulation-thread": true,
      "fix-meas-per-walker": true, "g4-distribution": "BLOCKED", "distributed-g4-enabled": true)");
  EXPECT_THAT(notes_of(threads), Contains(HasSubstr("threaded-solver/g4-distribution")));
}

// Numbers such as "1." and ".5" are none of JSON; inputs of DCA++ have them.
TEST(DcaJson, NumbersThatEndOrBeginWithAPoint) {
  EXPECT_EQ(options_of(changed("\"U\": 6", "\"U\": 6.")).u, 6);
  EXPECT_EQ(options_of(changed("\"U\": 6", "\"U\": .5")).u, 0.5);
  EXPECT_EQ(options_of(changed("\"accuracy\": 0.0", "\"accuracy\": 1.e-3")).u, 6);
  EXPECT_EQ(options_of(changed("[0.0, 0.0]", "[0., -.0]")).pair_frequencies, 16);
  EXPECT_EQ(options_of(changed("./T=0.08", "1. \\\" .5 ")).u, 6);  // within quotes
  // The place of an error is that in the file.
  const auto wrong = read_dca_json("{ \"physics\": { \"beta\": 1., \"density\": 1.; } }", "f");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message.find("f:1:41: "), 0u) << wrong.error().message;
}

// Only the model, the cluster and few numbers: the rest has the defaults of DCA++.
TEST(DcaJson, DefaultsOfKeysThatAreMissing) {
  const std::string least = R"({ "physics": { "beta": 2, "chemical-potential": 0 },
    "single-band-Hubbard-model": { "t": 1, "U": 4 },
    "domains": { "real-space-grids": { "cluster": [[2, 0], [0, 2]] },
                 "imaginary-frequency": { "sp-fermionic-frequencies": 16 } } })";
  const auto o = options_of(least);
  EXPECT_TRUE(o.adjust_mu);
  EXPECT_EQ(o.density, 1);
  EXPECT_EQ(o.first_iterations, 1);
  EXPECT_EQ(o.measurements, 100);
  EXPECT_EQ(o.walkers, 1);
  EXPECT_EQ(o.frequencies, 32);
  EXPECT_TRUE(o.check());
  EXPECT_THAT(notes_of(least), Contains(HasSubstr("physics/density: none is given; mu is adjusted")));
  EXPECT_THAT(notes_of(least), Contains(HasSubstr("sp-fermionic-frequencies: the run has 32")));
  EXPECT_EQ(options_of(changed("\"self-energy-mixing-factor\": 0.75", "\"self-energy-mixing-factor\": 0")).mixing, 0);
}

TEST(DcaJson, FunctionsOfTwoParticles) {
  const auto magnetic = options_of(changed("\"type\": \"PARTICLE_PARTICLE_UP_DOWN\", \"momentum-transfer\": [0.0, 0.0]",
                                           "\"channels\": [\"PARTICLE_HOLE_MAGNETIC\", \"PARTICLE_PARTICLE_UP_DOWN\"], "
                                           "\"momentum-transfer\": [3.1416, 0]"));
  EXPECT_EQ(magnetic.channels, (std::vector<std::string>{"magnetic", "particle_particle"}));
  EXPECT_EQ(magnetic.transfer, (std::vector<double>{1, 0}));
  EXPECT_EQ(magnetic.four_point_frequencies, 16);
  EXPECT_EQ(magnetic.pair_frequencies, 0);
  EXPECT_FALSE(magnetic.all_transfers);
  const auto all = options_of(changed("\"type\": \"PARTICLE_PARTICLE_UP_DOWN\"",
                                      "\"type\": \"PARTICLE_HOLE_CHARGE\", \"compute-all-transfers\": true"));
  EXPECT_EQ(all.channels, std::vector<std::string>{"charge"});
  EXPECT_TRUE(all.all_transfers && all.check().has_value());
  EXPECT_TRUE(options_of(standard).channels.empty());
  const auto negative = changed("\"frequency-transfer\": 0", "\"frequency-transfer\": -1");
  EXPECT_EQ(options_of(negative).transfer_frequency, 1);
  EXPECT_THAT(notes_of(negative), Contains(HasSubstr("the transfer 1 is measured; functions at -1")));
}

// DCA++ takes 1 if there is none, which the pair function cannot have.
TEST(DcaJson, FunctionsOfTwoParticlesWithoutFrequencies) {
  const std::string key = ", \"four-point-fermionic-frequencies\": 16";
  const auto refused = [](const std::string& text) { return read_dca_json(text, "f.json").error().message; };
  EXPECT_EQ(
      refused(changed(key, "")),
      "f.json: expected the key domains/imaginary-frequency/four-point-fermionic-frequencies, found none: pairs at "
      "zero transfer (PARTICLE_PARTICLE_UP_DOWN) need an even number of positive frequencies, e.g. 16; without "
      "functions of two particles, use the channel NONE");
  EXPECT_EQ(
      refused(changed(key, ", \"four-point-fermionic-frequencies\": 5")),
      "f.json: domains/imaginary-frequency/four-point-fermionic-frequencies: expected an even number, for pairs at "
      "zero transfer (PARTICLE_PARTICLE_UP_DOWN), found 5");
  std::string magnetic = changed(key, "");
  const std::string pairs = "PARTICLE_PARTICLE_UP_DOWN";
  magnetic.replace(magnetic.find(pairs), pairs.size(), "PARTICLE_HOLE_MAGNETIC");
  EXPECT_TRUE(options_of(magnetic).check());
  EXPECT_EQ(options_of(magnetic).four_point_frequencies, 1);
  EXPECT_THAT(notes_of(magnetic), Contains(HasSubstr("four-point-fermionic-frequencies: none is given")));
  magnetic.replace(magnetic.find("PARTICLE_HOLE_MAGNETIC"), 22, "NONE");
  EXPECT_TRUE(options_of(magnetic).check());
}

TEST(DcaJson, WrongInputGetsOneLineWithTheNearestName) {
  const auto message = [](const std::string& text) {
    const auto r = read_dca_json(text, "input.json");
    return r ? std::string("read") : r.error().message;
  };
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& words) {
    const auto m = message(changed(from, to));
    EXPECT_NE(m.find(words), std::string::npos) << m;
    EXPECT_EQ(m.find('\n'), std::string::npos) << m;
    EXPECT_EQ(m.find("input.json"), 0u) << m;
  };
  expect("\"physics\"", "\"phisics\"", "unknown group 'phisics'; expected 'physics'?");
  expect("\"CT-AUX\"", "\"CT_AUX\"", "unknown group 'CT_AUX'; expected 'CT-AUX'?");
  expect("\"CT-AUX\"", "\"something\"", "expected one of CT-AUX, CT-INT");
  expect("\"walkers\"", "\"walker\"", "'Monte-Carlo-integration/threaded-solver/walker'; expected 'walkers'?");
  expect("\"do-DCA+\": false", "\"do-DCA+\": true", "DCA/DCA+/do-DCA+: expected false");
  expect("\"adjust-chemical-potential\": true", "\"adjust-chemical-potential\": 0", "expected true or false");
  expect("\"iterations\": 6", "\"iterations\": 6, \"do-not-update-Sigma\": true",
         "DCA/do-not-update-Sigma: expected false");
  expect("\"t\": 1.0", "\"t\": 0", "expected a hopping above 0, because energies are divided by it, found 0");
  expect("\"t\": 1.0, ", "", "because energies are divided by it, found none");
  expect("\"measurements\": 100000", "\"measurements\": [10, 2.5]", "expected an integer, found 2.5");
  expect("\"sweeps-per-measurement\": 1.5", "\"sweeps-per-measurement\": []", "expected a number, found []");
  expect("PARTICLE_PARTICLE_UP_DOWN", "PARTICLE_HOLE_LONGITUDINAL_UP_UP", "found PARTICLE_HOLE_LONGITUDINAL_UP_UP");
  expect("\"frequency-transfer\": 0", "\"frequency-transfer\": 0.5", "expected an integer");
  expect("[0.0, 0.0]", "[0.0]", "two components");
  expect("[[2, 0], [0, 2]]", "[[2, 0], [0, 2.5]]", "two vectors of two integers");
  expect("\"U\": 6", "\"U\": \"6\"", "expected a number");
  expect("\"U\": 6", "\"U\": 6, \"V\": 1", "no interaction between sites");
  expect("\"beta\": 12.5", "\"beta\": -1", "above 0");
  expect("\"single-band-Hubbard-model\"", "\"bilayer-Hubbard-model\"",
         "found 'bilayer-Hubbard-model'; plx-dca has no other model");
  expect("\"beta\": 12.5,", "\"beta\": 12.5;", "input.json:3:");
  expect("\"beta\": 12.5", "\"beta\": 1e400", "input.json:3:");
  expect("\"beta\": 12.5", "\"beta\": 1e400", "expected a number below 1e308, found 1e400");
  // In text to which digits are added for the parser.
  expect("\"beta\": 12.5", "\"beta\": 1.e400", "input.json:3:");
  expect("\"beta\": 12.5", "\"beta\": 1.e400", "expected a number below 1e308, found 1.e400");
  expect("\"beta\": 12.5", "\"beta\": .5e400", "input.json:3:");
  expect("\"beta\": 12.5", "\"beta\": .5e400", "found .5e400");
  expect("\"beta\": 12.5", "\"beta\": 2, \"beta\": 12.5", "physics/beta: expected the key once");
  expect("\"CT-AUX\"", "\"physics\"", "physics: expected the key once");
  EXPECT_NE(message("[1]").find("expected an object"), std::string::npos);
}

}  // namespace
}  // namespace plx::qmc
