#include "probe/trace_ring.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace {

using namespace plx::probe;

trace_record numbered(std::uint64_t i) { return {i, i + 1, 2 * i, static_cast<name_id>(i & 7), 1}; }

TEST(TraceRing, KeepsOrderAndCountsWhatIsLost) {
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

TEST(TraceRing, TwoThatBelongTogetherAreTakenOrLostTogether) {
  trace_ring ring(4);
  for (std::uint64_t i = 0; i < 3; ++i) ring.push(numbered(i));
  ring.push(numbered(3), numbered(4));  // there is room for one
  EXPECT_EQ(ring.lost(), 2u);
  std::vector<std::uint64_t> begins;
  ring.drain([&](const trace_record& r) { begins.push_back(r.begin); });
  ring.push(numbered(5), numbered(6));
  ring.drain([&](const trace_record& r) { begins.push_back(r.begin); });
  EXPECT_EQ(begins, (std::vector<std::uint64_t>{0, 1, 2, 5, 6}));
}

/// Each record arrives once, whole and in order, or is counted as lost.
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

}  // namespace
