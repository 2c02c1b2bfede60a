#include "base/available_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>

#include "base/sanitizers.hpp"

namespace plx {
namespace {

#if defined(PLX_ASAN) || defined(PLX_TSAN)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

TEST(AvailableMemory, IsThatOfTheMachineOrOfTheControlGroup) {
  EXPECT_EQ(available_in_meminfo("MemTotal: 9 kB\nMemAvailable:    2000 kB\nBuffers: 3 kB\n"), 2000 * 1024.0);
  EXPECT_EQ(available_in_meminfo("MemTotal: 9 kB\n"), HUGE_VAL);
  EXPECT_EQ(left_in_group("max\n", "100\n", ""), HUGE_VAL);
  EXPECT_EQ(left_in_group("1000\n", "700\n", "anon 500\ninactive_file 150\n"), 450);
  EXPECT_EQ(left_in_group("1000\n", "1200\n", ""), 0);
  EXPECT_GT(available_memory_bytes(), 1e6);
}

TEST(AvailableMemory, AddressSpaceIsThatOfTheLimits) {
  EXPECT_TRUE(check_address_space(1e9, 2));
  EXPECT_FALSE(check_address_space(1e30, 2));
  if constexpr (sanitized) GTEST_SKIP() << "a sanitizer maps more memory itself than the limit allows";
  rlimit before{};
  getrlimit(RLIMIT_DATA, &before);
  const rlimit small{rlim_t{1} << 30, before.rlim_max};
  setrlimit(RLIMIT_DATA, &small);
  const auto refused = check_address_space(2e9, 2);
  const auto taken = check_address_space(1e8, 1);
  setrlimit(RLIMIT_DATA, &before);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("expected 2.7 GB of address space for the run, found less "
                                                          "(ulimit -d is 1048576, vm.overcommit_memory)"));
  EXPECT_TRUE(taken);
}

}  // namespace
}  // namespace plx
