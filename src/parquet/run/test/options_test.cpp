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

TEST(ParquetOptions, MemoryIsThatOfTheVectors) {
  parquet_options o;
  o.cluster = "atom";
  o.frequencies = {2, 3};
  o.history = 1;
  // Transfers 0, 1, 2: 7, 6 and 7 rows, four channels; two inputs and two residuals; three matrices of a worker.
  EXPECT_EQ(o.memory_bytes({.workers = 2}), 16.0 * (4 * 4 * (49 + 36 + 49) + 2 * 3 * 49));
  o.memory_gb = 1e-5;
  const auto r = o.check_memory({.workers = 2});
  ASSERT_FALSE(r.has_value());
  EXPECT_THAT(r.error().message, HasSubstr("expected at most 1e-05 GB (memory.limit_gb)"));
  o.memory_gb = 0;
  EXPECT_TRUE(o.check_memory({.workers = 2}).has_value());
  o.cluster = "32x32";
  o.frequencies = {2};
  EXPECT_THAT(o.check_memory({.workers = 2}).error().message, HasSubstr("available now"));
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
