#include "parquet/run/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parquet/run/options.hpp"

namespace plx::parquet {
namespace {

using testing::HasSubstr;

TEST(ParquetMemory, IsThatOfTheVectors) {
  parquet_options o;
  o.cluster = "atom";
  o.frequencies = {2, 3};
  o.history = 1;
  // Transfers 0, 1, 2: 7, 6 and 7 rows, four channels; two inputs and two residuals; three matrices of a worker.
  // Sigma has 128 frequencies, and the density is one number more; G, bubbles and what is kept while they are computed.
  EXPECT_EQ(memory_bytes(o, {.workers = 2}), 16.0 * (4 * (4 * (49 + 36 + 49) + 128 + 1) + 16 * 128 + 2 + 2 * 2 * 49));
  o.memory_gb = 1e-5;
  const auto r = check_memory(o, {.workers = 2});
  ASSERT_FALSE(r.has_value());
  EXPECT_THAT(r.error().message, HasSubstr("expected at most 1e-05 GB (memory.limit_gb)"));
  o.memory_gb = 0;
  EXPECT_TRUE(check_memory(o, {.workers = 2}).has_value());
  o.cluster = "32x32";
  o.frequencies = {2};
  EXPECT_THAT(check_memory(o, {.workers = 2}).error().message, HasSubstr("available now"));
}

}  // namespace
}  // namespace plx::parquet
