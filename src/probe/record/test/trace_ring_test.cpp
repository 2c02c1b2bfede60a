#include "probe/record/trace_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace plx::probe;

trace_record numbered(std::uint64_t i) { return {i, i + 1, 2 * i, static_cast<name_id>(i & 7), 1}; }

TEST(TraceRing, KeepsOrderAndCountsLostRecords) {
  trace_ring ring(5);
  EXPECT_EQ(ring.capacity(), 8u);
  for (std::uint64_t i = 0; i < 11; ++i) ring.push(numbered(i));
  EXPECT_EQ(ring.lost(), 3u);
  std::vector<std::uint64_t> begins;
  EXPECT_EQ(ring.drain([&](const trace_record& r) { begins.push_back(r.begin); }), 8u);
  EXPECT_EQ(begins, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  ring.push(numbered(20));
  EXPECT_EQ(ring.drain([&](const trace_record& r) { EXPECT_EQ(r.begin, 20u); }), 1u);
  EXPECT_EQ(ring.drain([](const trace_record&) {}), 0u);
}

TEST(TraceRing, APairIsKeptOrLostTogether) {
  trace_ring ring(4);
  for (std::uint64_t i = 0; i < 3; ++i) ring.push(numbered(i));
  ring.push(numbered(3), numbered(4));  // room for one
  EXPECT_EQ(ring.lost(), 2u);
  std::vector<std::uint64_t> begins;
  ring.drain([&](const trace_record& r) { begins.push_back(r.begin); });
  ring.push(numbered(5), numbered(6));
  ring.drain([&](const trace_record& r) { begins.push_back(r.begin); });
  EXPECT_EQ(begins, (std::vector<std::uint64_t>{0, 1, 2, 5, 6}));
}

/// Each record arrives exactly once, complete and in order, or is counted as lost.
TEST(TraceRing, AReaderWhileTheWorkerWrites) {
  trace_ring ring(64);
  constexpr std::uint64_t n = 100'000;
  std::uint64_t got = 0, last = 0;
  const auto take = [&](const trace_record& r) {
    ASSERT_TRUE(got == 0 || r.begin > last);
    ASSERT_EQ(r.end, r.begin + 1);
    ASSERT_EQ(r.key, 2 * r.begin);
    ASSERT_EQ(r.name, r.begin & 7);
    last = r.begin;
    ++got;
  };
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= n; ++i) ring.push(numbered(i));
  });
  while (got + ring.lost() < n) ring.drain(take);
  writer.join();
  ring.drain(take);
  EXPECT_EQ(got + ring.lost(), n);
  EXPECT_EQ(ring.pushed(), got);
}

/// Compares returned and lost records with a queue of the same capacity, over many blocks and rounds.
TEST(TraceRing, IsAQueueThatLosesTheNewest) {
  for (const std::size_t capacity : {8u, 4096u, 8192u, 16384u}) {
    trace_ring ring(capacity);
    std::mt19937 random(static_cast<unsigned>(capacity));
    std::deque<std::uint64_t> model;
    std::uint64_t next = 0, lost = 0;
    for (int turn = 0; turn < 400; ++turn) {
      for (std::size_t n = random() % capacity; n > 0; --n) {
        if (random() % 3 != 0) {
          ring.push(numbered(next));
          if (model.size() < capacity)
            model.push_back(next);
          else
            ++lost;
        } else {
          ring.push(numbered(next), numbered(next + 1));
          if (model.size() + 1 < capacity)
            model.push_back(next), model.push_back(next + 1);
          else
            lost += 2;
        }
        next += 2;
      }
      ASSERT_EQ(ring.lost(), lost);
      if (random() % 3 == 0) continue;
      const std::size_t n = model.size();
      EXPECT_EQ(ring.drain([&](const trace_record& r) {
        ASSERT_EQ(r.begin, model.front());
        model.pop_front();
      }),
                n);
      ASSERT_TRUE(model.empty());
    }
    EXPECT_GT(lost, 0u);
    EXPECT_LE(ring.touched(), capacity + std::min(capacity, trace_ring::most_block_records));
  }
}

TEST(TraceRing, ReusesMemoryIfDrainedInTime) {
  trace_ring ring(std::size_t{1} << 18);
  std::uint64_t next = 0, got = 0;
  for (int turn = 0; turn < 500; ++turn) {
    for (int i = 0; i < 3000; ++i) ring.push(numbered(next++));
    ring.drain([&](const trace_record& r) { ASSERT_EQ(r.begin, got++); });
  }
  EXPECT_EQ(got, next);
  EXPECT_LE(ring.touched(), 2 * trace_ring::most_block_records);
}

}  // namespace
