#include "net/core/buffer_memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "net/buffer.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net::detail {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

#if defined(PLX_ASAN) || defined(PLX_TSAN)
constexpr bool keeps = false;
#else
constexpr bool keeps = true;
#endif

class BufferMemory : public testing::Test {
 protected:
  BufferMemory() { free_kept_buffers(); }
  ~BufferMemory() override { free_kept_buffers(); }
};

TEST_F(BufferMemory, LargeBlocksAreReused) {
  if (!keeps) GTEST_SKIP() << "not under a sanitizer";
  void* p = get_buffer_memory(5 * mib);
  std::memset(p, 1, 5 * mib);
  put_buffer_memory(p, 5 * mib);
  EXPECT_EQ(kept_buffer_bytes(), 5 * mib);
  void* q = get_buffer_memory(5 * mib - 1000);  // of the same class
  EXPECT_EQ(q, p);
  EXPECT_EQ(kept_buffer_bytes(), 0u);
  void* r = get_buffer_memory(5 * mib);
  EXPECT_NE(r, q);
  put_buffer_memory(q, 5 * mib - 1000);
  put_buffer_memory(r, 5 * mib);
  EXPECT_EQ(kept_buffer_bytes(), 10 * mib);
}

// A class template: there Clang 16 treats `held = {}` differently (see plx::detail::counted_ptr).
template <class Other>
struct buffer_member {
  buffer<std::byte> held;
  Other other{};
  void reset() { held = {}; }
};

TEST_F(BufferMemory, AnAssignmentReleasesTheOldBlockOnce) {
  if (!keeps) GTEST_SKIP() << "not under a sanitizer";
  const std::size_t size = 4 * mib - buffer_alignment;
  buffer_member<int> in_template{buffer<std::byte>(size)};
  in_template.reset();
  EXPECT_EQ(kept_buffer_bytes(), 4 * mib);
  EXPECT_TRUE(in_template.held.empty());
  {
    buffer<std::byte> a(size), b = a;
    std::byte* const data = a.data();
    buffer<std::byte>& same = a;
    a = *&a;
    a = std::move(same);
    EXPECT_EQ(a.data(), data);
    a = {};
    EXPECT_EQ(kept_buffer_bytes(), 0u);  // b still holds it
    a = std::move(b);
    EXPECT_EQ(a.data(), data);
    EXPECT_TRUE(b.empty());
  }
  EXPECT_EQ(kept_buffer_bytes(), 4 * mib);
}

TEST_F(BufferMemory, SmallAndHugeBlocksAreNotKept) {
  for (const std::size_t bytes : {std::size_t{1}, kept_from_bytes - 1, most_kept_bytes + 1}) {
    put_buffer_memory(get_buffer_memory(bytes), bytes);
    EXPECT_EQ(kept_buffer_bytes(), 0u) << bytes;
  }
}

TEST_F(BufferMemory, TheOldestAreFreedFirst) {
  if (!keeps) GTEST_SKIP() << "not under a sanitizer";
  std::vector<void*> all;
  for (int i = 0; i < 9; ++i) all.push_back(get_buffer_memory(32 * mib));  // never touched: they take no memory
  void* small = get_buffer_memory(mib);
  put_buffer_memory(small, mib);
  for (void* p : all) put_buffer_memory(p, 32 * mib);
  EXPECT_EQ(kept_buffer_bytes(), 256 * mib);
  void* newest = get_buffer_memory(32 * mib);
  EXPECT_EQ(newest, all.back());
  put_buffer_memory(newest, 32 * mib);
  void* another = get_buffer_memory(mib);  // the small one was the oldest
  EXPECT_EQ(kept_buffer_bytes(), 256 * mib);
  put_buffer_memory(another, mib);
  EXPECT_EQ(kept_buffer_bytes(), 257 * mib);
}

TEST_F(BufferMemory, BuffersOfAllSizesAreAlignedAndDisjoint) {
  for (int round = 0; round < 2; ++round)
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, mib - 64, mib, 3 * mib + 17}) {
      const buffer<char> a(n), b(n);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % buffer_alignment, 0u);
      std::memset(a.data(), 1, n);
      std::memset(b.data(), 2, n);
      EXPECT_EQ(a[0] + a[n - 1], 2);
      EXPECT_EQ(b[0] + b[n - 1], 4);
    }
}

}  // namespace
}  // namespace plx::net::detail
