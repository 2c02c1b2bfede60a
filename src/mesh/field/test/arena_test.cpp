#include "mesh/field/arena.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace {

using namespace plx::mesh;

TEST(Arena, BlocksAreAlignedAndKeepTheirValues) {
  arena a({{"one"}, {"two"}, {"three"}}, 6);  // 648 doubles: a multiple of 8
  EXPECT_EQ(a.variable_count(), 3);
  EXPECT_EQ(a.cells(), 216);
  a.resize(3);
  for (slot_id s = 0; s < 3; ++s) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.block(s)) % 64, 0u);
    for (int i = 0; i < 648; ++i) a.block(s)[i] = s * 1000 + i;
  }
  a.resize(500);
  EXPECT_EQ(a.slots(), 500u);
  for (slot_id s = 0; s < 500; ++s) {
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(a.block(s)) % 64, 0u);
    for (int i = 0; s < 3 && i < 648; ++i) ASSERT_EQ(a.block(s)[i], s * 1000 + i);
  }
  a.resize(2);  // never shrinks
  EXPECT_EQ(a.slots(), 500u);
}

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  if (f == nullptr) return 0;
  if (std::fscanf(f, "%zu %zu", &total, &resident) != 2) resident = 0;
  std::fclose(f);
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// The caller of resize() is one thread, whereas all workers write the values.
TEST(Arena, NewBlocksTakeMemoryWhenTheyAreWritten) {
  const std::size_t before = resident_bytes();
  if (before == 0) GTEST_SKIP() << "needs /proc/self/statm";
  constexpr std::size_t blocks = 4096, bytes = blocks * 32 * 32 * 32 * sizeof(double);  // 1 GiB
  arena a({{"one"}}, 32);
  a.resize(blocks);
  EXPECT_LT(resident_bytes() - before, bytes / 10);
}

TEST(Arena, HoldsSomeOfTheBlocks) {
  arena a({{"one"}}, 8);
  const slot_id first[] = {7, 2, 100};
  a.hold(200, first);
  EXPECT_EQ(a.slots(), 200u);
  EXPECT_EQ(a.rows(), 3u);
  for (const slot_id s : first) std::fill_n(a.block(s), 512, s);
  for (const slot_id s : {0, 3, 199, 200, 5000}) EXPECT_FALSE(a.holds(s));

  const slot_id kept[] = {100, 2}, more[] = {2, 50, 60, 300};
  a.hold_only(200, kept);
  EXPECT_FALSE(a.holds(7));
  a.hold(301, more);  // one of them in the released row
  EXPECT_EQ(a.rows(), 5u);
  for (const slot_id s : {50, 60, 300}) std::fill_n(a.block(s), 512, s);
  for (const slot_id s : {2, 50, 60, 100, 300})
    for (int i = 0; i < 512; ++i) ASSERT_EQ(a.block(s)[i], s);
  EXPECT_DEATH(static_cast<void>(a.block(7)), "row");
}

TEST(Arena, Moves) {
  arena a({{"one"}}, 8);
  a.resize(2);
  a.block(1)[5] = 7.0;
  arena b = std::move(a);
  EXPECT_EQ(b.block(1)[5], 7.0);
  arena c({{"other"}}, 8);
  c = std::move(b);
  EXPECT_EQ(c.block(1)[5], 7.0);
  EXPECT_EQ(c.fields()[0].name, "one");
}

}  // namespace
