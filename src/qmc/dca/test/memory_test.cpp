#include "qmc/dca/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "qmc/dca/options.hpp"

namespace plx::qmc {
namespace {

using testing::HasSubstr, testing::Not;

const memory_share on_two{.workers = 2, .available_bytes = 16e9};

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
  EXPECT_TRUE(check_memory(o, on_two));
  o.cluster = "20x20";
  o.temperatures = {1};
  o.pair_frequencies = 64;
  const auto pairs = check_memory(o, on_two).error().message;
  EXPECT_THAT(pairs, HasSubstr("GB, on process 0 with any number of processes: use fewer walkers or bins, a smaller "
                               "pairing.frequencies (64)"));
  EXPECT_THAT(pairs, Not(HasSubstr("processes with that memory")));
  o.pair_frequencies = 0;
  o.temperatures = {1e-4};
  EXPECT_THAT(check_memory(o, on_two).error().message, HasSubstr("the matrices of 8 walkers"));
}

// Functions of two particles that stay with their walkers: 1/p of them, and the walkers, on each of p processes.
TEST(DcaMemory, DistributedFunctionsAreSharedByProcesses) {
  dca_options o;
  o.cluster = "4x4";
  o.temperatures = {1};
  o.pair_frequencies = 0;
  o.walkers = 32;
  o.channels = {"magnetic"};
  o.all_transfers = true;
  o.four_point_frequencies = 16;  // 16 functions of 512^2 complex numbers
  const double functions = 16.0 * 512 * 512 * 16;
  const double alone = memory_bytes(o);
  EXPECT_GT(alone, 32 * 8 * functions);
  o.distribute = "never";
  EXPECT_FALSE(distributes(o, {2, 4}));
  EXPECT_GT(memory_bytes(o, {2, 4}), 32 * 8 * functions);
  o.distribute = "always";
  EXPECT_FALSE(distributes(o, {2, 1}));
  for (const unsigned p : {2u, 4u, 8u, 16u}) {
    EXPECT_TRUE(distributes(o, {2, p}));
    const double least = 32 * (8 + 1) * functions / p;  // bins and the sums of walkers
    EXPECT_GT(memory_bytes(o, {2, p}), least);
    EXPECT_LT(memory_bytes(o, {2, p}), 1.25 * least + 0.3e9);
  }
  EXPECT_THAT(text_of_memory(o, {2, 4}),
              HasSubstr("on each of 4 processes, functions of two particles distributed: 19.3 GB on the disk for a "
                        "checkpoint"));
}

TEST(DcaMemory, AutoDistributesWhatDoesNotFit) {
  dca_options o;
  o.channels = {"charge"};
  memory_share share{.workers = 2, .localities = 4, .available_bytes = 16e9};
  EXPECT_FALSE(distributes(o, share));
  share.available_bytes = 0.5 * memory_bytes(o, on_two);
  EXPECT_TRUE(distributes(o, share));
  share.available_bytes = 16e9;
  o.cluster = "8x8";
  o.all_transfers = true;
  o.walkers = 100;
  o.four_point_frequencies = 16;
  EXPECT_TRUE(distributes(o, share));
  EXPECT_FALSE(distributes(o, on_two));
}

// One line says how many processes with as much memory are enough.
TEST(DcaMemory, RefusalsNameTheNumberOfProcesses) {
  dca_options o;
  o.temperatures = {1};
  o.pair_frequencies = 0;
  o.channels = {"magnetic"};
  o.correlations = false;
  o.frequencies = 32;
  o.walkers = 20000;  // 160,000 bins of one megabyte
  o.four_point_frequencies = 32;
  const auto refused = check_memory(o, on_two);
  ASSERT_FALSE(refused);
  unsigned n = 0;
  ASSERT_EQ(std::sscanf(std::strstr(refused.error().message.c_str(), "use "), "use %u processes", &n), 1)
      << refused.error().message;
  EXPECT_GT(n, 1u);
  EXPECT_LE(n, 20000u);
  o.distribute = "always";
  const double of_each = memory_bytes(o, {2, n}), of_one_less = memory_bytes(o, {2, n - 1});
  // The message has three digits of the limit.
  const char* const at_most = std::strstr(refused.error().message.c_str(), "at most the ");
  double limit = 0;
  ASSERT_NE(at_most, nullptr);
  ASSERT_EQ(std::sscanf(at_most, "at most the %lg GB", &limit), 1);
  EXPECT_LE(of_each, 1.005e9 * limit);
  EXPECT_GT(of_one_less, 0.995e9 * limit);
  o.cluster = "8x8";
  o.four_point_frequencies = 512;
  EXPECT_THAT(check_memory(o, on_two).error().message, Not(HasSubstr("processes with that memory")));
}

}  // namespace
}  // namespace plx::qmc
