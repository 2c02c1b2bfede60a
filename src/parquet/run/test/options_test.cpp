#include "parquet/run/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plx::parquet {
namespace {

using testing::HasSubstr;

TEST(ParquetOptions, ClustersHaveTheirEnergies) {
  parquet_options o;
  o.t = 0.5;
  o.cluster = "atom";
  EXPECT_EQ(o.make_model()->energies, std::vector<double>{0});
  o.cluster = "dimer";
  EXPECT_EQ(o.make_model()->energies, (std::vector<double>{-0.5, 0.5}));
  o.vectors = {2, 0, 0, 2};  // before the name
  EXPECT_EQ(o.make_model()->energies.size(), 4u);
  EXPECT_EQ(o.make_model()->energies[0], -2);
}

TEST(ParquetOptions, RefusesARepulsionWhoseSquareIsLost) {
  parquet_options o;
  for (const double u : {0.0, 1e-6}) {
    o.u = u;
    EXPECT_TRUE(o.check()) << u;
  }
  for (const double u : {1e-7, 1e-200}) {
    o.u = u;
    EXPECT_THAT(o.check().error().message, HasSubstr("model.u: expected 0 or at least 1e-6")) << u;
  }
}

TEST(ParquetOptions, RefusesGridsThatDoNotFit) {
  parquet_options o;
  o.frequencies = {8, 6};
  EXPECT_THAT(o.check().error().message, HasSubstr("ascending"));
  o.frequencies = {64};
  EXPECT_THAT(o.check().error().message, HasSubstr("expected at least 192"));
  o.frequencies = {2, 4};
  o.bosons = 5;
  EXPECT_THAT(o.check().error().message, HasSubstr("at most 4"));
}

}  // namespace
}  // namespace plx::parquet
