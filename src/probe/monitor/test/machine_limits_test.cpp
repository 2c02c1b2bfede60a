#include "probe/monitor/machine_limits.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"

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

TEST(MachineLimits, EachCacheCountsOnce) {
  const std::string root = temporary_path("caches");
  const auto file = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    ASSERT_TRUE(plx::write_file(root + path, text + "\n"));
  };
  for (int i = 0; i < 6; ++i) {
    const std::string caches = "/devices/system/cpu/cpu" + std::to_string(i) + "/cache/index";
    file(caches + "2/level", "2");
    file(caches + "2/size", "1024K");
    file(caches + "2/shared_cpu_list", std::to_string(i));
    file(caches + "3/level", "3");
    file(caches + "3/size", i < 4 ? "32768K" : "96M");
    file(caches + "3/shared_cpu_list", i < 2 ? "0-1" : i < 4 ? "2-3" : "4-5");
  }
  std::filesystem::create_directories(root + "/devices/system/cpu/cpufreq");
  EXPECT_EQ(third_level_bytes(root), std::size_t{32 + 32 + 96} << 20);
  EXPECT_EQ(third_level_bytes(root + "/none"), 0u);
}

TEST(MachineLimits, ArraysFitTheMemoryAndExceedTheCaches) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  constexpr double plenty = std::numeric_limits<double>::infinity();
  EXPECT_EQ(limit_array_bytes(0, plenty), 64 * mib);
  EXPECT_EQ(limit_array_bytes(32 * mib, plenty), 128 * mib);
  EXPECT_EQ(limit_array_bytes(200 * mib, plenty), 512 * mib);
  EXPECT_EQ(limit_array_bytes(384 * mib, plenty), 768 * mib);
  EXPECT_EQ(limit_array_bytes(200 * mib, 900.0 * mib), 450 * mib);
  EXPECT_EQ(limit_array_bytes(200 * mib, 20.0 * mib), 64 * mib) << "measure_machine_limits() refuses";
}

}  // namespace
