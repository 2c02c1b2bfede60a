#include "star/hydro/species.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plx::star {
namespace {

using testing::ElementsAre;

TEST(SpeciesList, NamesByDefaultAreNumbers) {
  const auto all = species_options{}.make(2);
  ASSERT_TRUE(all);
  EXPECT_THAT(all->names, ElementsAre("species_0", "species_1"));
  EXPECT_TRUE(all->weights.empty());
  EXPECT_TRUE(species_options{}.make(0)->names.empty());
}

TEST(SpeciesList, TheMeanWeightCountsParticles) {
  species_options o;
  o.weights = {0.5, 4.0 / 3.0};  // ionized hydrogen and helium
  const species_list all = o.make(2).value();
  const double hydrogen[] = {1.0, 0.0}, sun[] = {0.75, 0.25};
  EXPECT_EQ(all.mean_weight(hydrogen), 0.5);
  EXPECT_NEAR(all.mean_weight(sun), 1.0 / (2 * 0.75 + 0.75 * 0.25), 1e-15);
}

TEST(SpeciesList, WrongNumbersNamesAndWeightsAreRefused) {
  const auto refusal = [](std::vector<std::string> names, std::vector<double> weights, int count) {
    species_options o;
    o.names = std::move(names);
    o.weights = std::move(weights);
    const auto made = o.make(count);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(refusal({"helium"}, {}, 2), "species.names: expected 2, one per species of the problem, found 1");
  EXPECT_EQ(refusal({"helium"}, {}, 0), "species.names: expected none, one per species of the problem, found 1");
  EXPECT_EQ(refusal({}, {1.0}, 2), "species.weights: expected 2, one per species of the problem, found 1");
  EXPECT_EQ(refusal({"He", "c"}, {}, 2),
            "species.names: expected lower-case letters, digits and _, a letter first, found 'He'");
  EXPECT_EQ(refusal({"c", "c"}, {}, 2), "species.names: expected each name once, found 'c' twice");
  EXPECT_EQ(refusal({}, {1.0, 0.0}, 2), "species.weights: expected numbers above 0, found 0");
}

}  // namespace
}  // namespace plx::star
