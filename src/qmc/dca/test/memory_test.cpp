#include "qmc/dca/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "qmc/dca/options.hpp"

namespace plx::qmc {
namespace {

using testing::HasSubstr;

TEST(DcaMemory, LargestOrderIsThatOfTheLowestTemperature) {
  dca_options o;
  o.temperatures = {1, 0.1, 0.5};
  o.density = 1;
  EXPECT_DOUBLE_EQ(largest_order(o), 1 + 6 / 0.1 * 4 * 0.5);
  o.density = 1.5;  // half of the sites are occupied twice
  EXPECT_DOUBLE_EQ(largest_order(o), 1 + 6 / 0.1 * 4 * 0.25);
}

TEST(DcaMemory, GrowsWithBinsAndOrders) {
  dca_options o;
  const double few = memory_bytes(o);
  EXPECT_LT(few, 0.5e9);
  o.cluster = "6x6";  // a pair function has 1152^2 numbers; 64 bins
  const double pairs = 64 * 1152 * 1152 * sizeof(double);
  EXPECT_GT(memory_bytes(o), 2 * pairs);
  EXPECT_LT(memory_bytes(o), 6 * pairs + 30e9);
  o.pair_frequencies = 0;
  const double walkers = memory_bytes(o);
  o.walkers *= 2;
  EXPECT_NEAR(memory_bytes(o) / walkers, 2, 0.2);
}

TEST(DcaMemory, RefusalsNameTheCause) {
  dca_options o;
  EXPECT_TRUE(check_memory(o, 2));
  o.cluster = "20x20";
  o.temperatures = {1};
  o.pair_frequencies = 64;
  EXPECT_THAT(check_memory(o, 2).error().message, HasSubstr("a smaller pairing.frequencies (64)"));
  o.pair_frequencies = 0;
  o.temperatures = {1e-4};
  EXPECT_THAT(check_memory(o, 2).error().message, HasSubstr("the matrices of 8 walkers"));
}

}  // namespace
}  // namespace plx::qmc
