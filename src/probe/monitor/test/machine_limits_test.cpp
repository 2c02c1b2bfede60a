#include "probe/monitor/machine_limits.hpp"

#include <gtest/gtest.h>

namespace {

using namespace plx::probe;

TEST(MachineLimits, AreMeasuredOnAsManyThreads) {
  const auto limits = measure_machine_limits(2, std::size_t{4} << 20);
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->threads, 2u);
  EXPECT_GE(limits->vector_bits, 128u);
  EXPECT_GT(limits->flops_per_s, 1e6);
  EXPECT_GT(limits->bytes_per_s, 1e6);
  EXPECT_LE(limits->array_bytes, std::size_t{4} << 20);
  EXPECT_GE(limits->array_bytes, std::size_t{3} << 20);
}

TEST(MachineLimits, MoreMemoryThanThereIsIsRefused) {
  const auto limits = measure_machine_limits(1, std::size_t{1} << 50);
  ASSERT_FALSE(limits);
  EXPECT_EQ(limits.error().message,
            "the limits of the machine are not measured: 1073741824 MiB of memory are needed, and half of what is "
            "available is less");
}

}  // namespace
