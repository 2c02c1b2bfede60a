#include "gpu/buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu/core/memory_pool.hpp"
#include "gpu/test/each_device_test.hpp"
#include "gpu/testing/operations.hpp"
#include "rt/thread.hpp"

namespace plx::gpu {
namespace {

using detail::memory_pool;
using plx::testing::on_each_device;

TEST(buffer, size_classes_have_the_documented_sizes) {
  unsigned last = 0;
  for (std::size_t bytes = 1; bytes < 100'000; ++bytes) {
    const unsigned c = memory_pool::class_of(bytes);
    ASSERT_GE(memory_pool::bytes_of(c), bytes);
    ASSERT_LE(memory_pool::bytes_of(c), std::max<std::size_t>(256, bytes + bytes / 4 + 64)) << bytes;
    ASSERT_TRUE(c == 0 || memory_pool::bytes_of(c - 1) < bytes);
    ASSERT_GE(c, last);
    last = c;
  }
  for (unsigned c = 0; c < memory_pool::classes; ++c) ASSERT_EQ(memory_pool::class_of(memory_pool::bytes_of(c)), c);
}

TEST(buffer, copies_to_the_device_and_back) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      constexpr std::uint32_t n = 5000;
      stream s(d);
      buffer<double> x(s, n), y(s, n), z(s, n), h(s, n, memory_kind::pinned);
      for (std::uint32_t i = 0; i < n; ++i) h.span()[i] = i;
      s.copy(x.data(), h.data(), x.bytes());
      s.copy(y.data(), x.data(), x.bytes());
      s.launch(testing::add, testing::add_item{x.data(), y.data(), z.data(), n});
      s.copy(h.data(), z.data(), z.bytes());
      s.wait();
      for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(h.span()[i], 2.0 * i);
    });
  });
}

TEST(buffer, is_recycled_immediately_in_its_stream) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      stream s(d);
      double* first = buffer<double>(s, 1000).data();
      for (int i = 0; i < 100; ++i) EXPECT_EQ(buffer<double>(s, 1000).data(), first);
      const auto c = memory_counts_of(d, memory_kind::device);
      EXPECT_EQ(c.misses, 1u);
      EXPECT_EQ(c.hits, 100u);
      EXPECT_EQ(c.crossings, 0u);
      EXPECT_EQ(c.used_bytes, 0u);
      EXPECT_EQ(c.reserved_bytes, memory_pool::bytes_of(memory_pool::class_of(8000)));
    });
  });
}

// The second owner's write must follow the first one's slow work, without a wait on the host.
TEST(buffer, is_reused_in_another_stream_after_its_last_use) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      stream a(d), b(d);
      buffer<std::uint64_t> result(a, 1, memory_kind::pinned);
      std::uint64_t* first = nullptr;
      {
        buffer<std::uint64_t> x(a, 1);
        first = x.data();
        a.fill(x.data(), 0, 8);
        a.launch(testing::spin, testing::spin_item{1'000'000, nullptr, 0});
        a.launch(testing::chain, testing::chain_item{x.data(), 7});
      }
      buffer<std::uint64_t> y(b, 1);
      ASSERT_EQ(y.data(), first);
      b.fill(y.data(), 0, 8);
      b.launch(testing::chain, testing::chain_item{y.data(), 3});
      b.copy(result.data(), y.data(), 8);
      b.wait();
      EXPECT_EQ(result.span()[0], 3u);
      EXPECT_EQ(memory_counts_of(d, memory_kind::device).crossings, 1u);
      a.wait();
    });
  });
}

TEST(buffer, out_of_memory_trims_the_pools_and_retries_once) {
  cpu::testing_backend b({.memory_bytes = 1 << 20});
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, b.get());
  rt.run([&] {
    stream s(d);
    { buffer<char> x(s, 600'000); }
    { buffer<char> y(s, 900'000); }  // requires the memory of x
    EXPECT_EQ(memory_counts_of(d, memory_kind::device).trims, 1u);
    try {
      buffer<char> z(s, 3'000'000);
      ADD_FAILURE();
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), failure::out_of_memory);
      EXPECT_THAT(e.what(), ::testing::HasSubstr("3000000 bytes of device memory requested"));
    }
    buffer<char> still_works(s, 500'000);
  });
}

TEST(buffer, many_tasks_allocate_and_release) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      std::vector<plx::future<void>> all;
      for (int t = 0; t < 20; ++t)
        all.push_back(plx::async([&d, t] {
          stream s(d);
          for (int i = 0; i < 50; ++i) {
            buffer<std::uint64_t> x(s, static_cast<std::size_t>(1 + (t * 7 + i) % 300)), y(s, 200);
            buffer<std::uint64_t> h(s, 1, memory_kind::pinned);
            s.fill(x.data(), 0, 8);
            s.launch(testing::chain, testing::chain_item{x.data(), static_cast<std::uint64_t>(t * 1000 + i)});
            s.copy(h.data(), x.data(), 8);
            if (i % 10 == 0) {
              s.wait();
              ASSERT_EQ(h.span()[0], static_cast<std::uint64_t>(t * 1000 + i));
            }
          }
          s.wait();
        }));
      for (auto& f : all) f.get();
    });
    const auto c = memory_counts_of(d, memory_kind::device);
    EXPECT_EQ(c.hits + c.misses, 2000u);
    EXPECT_EQ(c.used_bytes, 0u);
    trim(d);
    EXPECT_EQ(memory_counts_of(d, memory_kind::device).reserved_bytes, 0u);
  });
}

// A capture cannot be waited for: other streams get other memory, and the capturing stream's memory is not released.
TEST(buffer, memory_last_used_by_a_capturing_stream_is_not_reused) {
  on_each_device([](plx::runtime& rt, device& d) {
    if (d.get_backend().name == "sycl") return;  // has no graphs
    rt.run([&] {
      stream s(d), other(d);
      int* first = nullptr;
      { first = buffer<int>(s, 1000).data(); }
      const graph g = s.capture([&] {
        const buffer<int> x(other, 1000);
        EXPECT_NE(x.data(), first);
        other.fill(x.data(), 1, x.bytes());
        other.wait();
        trim(d);
        const detail::memory_counts c = memory_counts_of(d, memory_kind::device);
        EXPECT_GT(c.reserved_bytes, c.used_bytes);
        s.fill(first, 2, sizeof(int));
      });
      s.launch(g);
      s.wait();
      trim(d);
      EXPECT_EQ(memory_counts_of(d, memory_kind::device).reserved_bytes, 0u);
    });
  });
}

TEST(buffer, an_overflowing_size_is_refused) {
  plx::runtime rt({.workers = 1, .bind = false});
  device d(rt, cpu::table());
  stream s(d);
  EXPECT_THROW(buffer<std::uint64_t>(s, (std::size_t{1} << 61) + 1), error);
  EXPECT_THROW(buffer<std::uint64_t>(s, ~std::size_t{0}), error);
}

}  // namespace
}  // namespace plx::gpu
