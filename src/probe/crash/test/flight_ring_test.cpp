#include "probe/crash/flight_ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "base/sanitizers.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {
namespace {

/// All words are equal, so that a torn record is detected.
trace_record nth(std::uint64_t n) { return {n, n, n, static_cast<name_id>(n), static_cast<std::uint32_t>(n)}; }

bool whole(const trace_record& r) {
  const auto low = static_cast<std::uint32_t>(r.begin);
  return r.end == r.begin && r.key == r.begin && r.name == low && r.flags == low;
}

std::size_t resident_pages() {
  const auto text = read_file("/proc/self/statm");
  unsigned long long pages = 0;
  if (text) std::sscanf(text->c_str(), "%*u %llu", &pages);
  return static_cast<std::size_t>(pages);
}

TEST(FlightRing, TouchesItsMemoryAsItIsUsed) {
#if defined(PLX_ASAN) || defined(PLX_TSAN)
  GTEST_SKIP() << "sanitizers track all memory";
#endif
  const std::size_t before = resident_pages();
  if (before == 0) GTEST_SKIP() << "no /proc";
  flight_ring ring(std::size_t{1} << 21);  // 64 MiB
  ring.push(nth(1));
  EXPECT_LT(resident_pages(), before + 1000);
}

TEST(FlightRing, KeepsTheNewest) {
  flight_ring ring(8);
  std::vector<std::uint64_t> seen;
  const auto read = [&] {
    seen.clear();
    ring.read([&](const trace_record& r) { seen.push_back(r.begin); });
    return seen;
  };
  EXPECT_TRUE(read().empty());
  for (std::uint64_t n = 0; n < 5; ++n) ring.push(nth(n));
  EXPECT_EQ(read(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  for (std::uint64_t n = 5; n < 21; ++n) ring.push(nth(n));
  EXPECT_EQ(read(), (std::vector<std::uint64_t>{13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_EQ(ring.pushed(), 21u);
}

TEST(FlightRing, FindsTheRecordsOfAnInterval) {
  flight_ring ring(64);
  const auto between = [&](ticks from, ticks to) {
    std::vector<std::uint64_t> seen;
    const std::size_t visited = ring.read_between(from, to, [&](const trace_record& r) { seen.push_back(r.begin); });
    EXPECT_LE(visited, seen.size() + 8);
    return seen;
  };
  using list = std::vector<std::uint64_t>;
  EXPECT_EQ(between(0, 1000), list{});
  EXPECT_EQ(ring.known_from(), 0u);
  for (std::uint64_t n = 0; n < 200; ++n) {
    ring.push({.begin = 10 * n, .end = 10 * n + 6, .key = 0, .name = 0, .flags = 0});
    if (n == 63) {
      EXPECT_EQ(ring.known_from(), 0u) << "nothing has been overwritten";
      EXPECT_EQ(between(15, 35), (list{10, 20, 30}));
    }
  }
  EXPECT_EQ(ring.known_from(), 1360u);
  EXPECT_EQ(between(1500, 1530), (list{1500, 1510, 1520}));
  EXPECT_EQ(between(1505, 1521), (list{1500, 1510, 1520})) << "parts of slices";
  EXPECT_EQ(between(1506, 1520), (list{1510})) << "the end does not belong to a slice";
  EXPECT_EQ(between(0, 1365), (list{1360}));
  EXPECT_EQ(between(1985, 5000), (list{1980, 1990}));
  EXPECT_EQ(between(0, 1000), list{}) << "overwritten";
  EXPECT_EQ(between(5000, 6000), list{});
  EXPECT_EQ(between(1600, 1600), list{});
  EXPECT_EQ(between(0, 5000).size(), 64u);
}

/// Compared with reading all: blocks of short slices stand for their sum, longer slices are passed singly.
TEST(FlightRing, ASampleHasAllLongSlicesAndTheSumOfTheShortOnes) {
  flight_ring ring(1024);
  ticks t = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const ticks length = i % 100 == 50 ? 500 : 6 + i % 3;
    ring.push({.begin = t, .end = t + length, .key = 0, .name = i, .flags = 0});
    t += length + 3;
  }
  std::size_t found_by = 0;
  const flight_ring::range all = ring.find(0, t, found_by), part = ring.find(4000, 8000, found_by);
  EXPECT_LE(found_by, 4 * 11u);
  EXPECT_EQ(all.last - all.first, 1000u);
  std::vector<name_id> between;
  ring.read_between(4000, 8000, [&](const trace_record& r) { between.push_back(r.name); });
  EXPECT_EQ(part.first, between.front());
  EXPECT_EQ(part.last, between.back() + 1);

  ticks whole = 0;
  ring.read([&](const trace_record& r) { whole += r.end - r.begin; });
  for (const unsigned stride : {1u, 2u, 16u, 64u, 5000u}) {
    std::uint64_t slices = 0;
    double time = 0;
    unsigned long_ones = 0;
    const std::size_t visited =
        ring.sample(all, 400, stride, [&](const trace_record& r, std::uint64_t n, double weight) {
          slices += n;
          time += weight * static_cast<double>(r.end - r.begin);
          if (r.end - r.begin != 500) return;
          ++long_ones;
          EXPECT_EQ(n, 1u);
          EXPECT_EQ(weight, 1.0);
        });
    EXPECT_EQ(slices, 1000u) << stride;
    EXPECT_EQ(long_ones, 10u) << stride;
    EXPECT_NEAR(time, static_cast<double>(whole), 0.05 * static_cast<double>(whole)) << stride;
    EXPECT_LE(visited, stride == 64 ? 500u : 2500u) << stride;
  }
}

TEST(FlightRing, AReaderNeverSeesAPartlyWrittenRecord) {
  flight_ring ring(16);
  std::atomic<bool> end{false};
  std::thread writer([&] {
    for (std::uint64_t n = 0; !end; ++n) ring.push(nth(n));
  });
  std::uint64_t read = 0;
  for (int i = 0; i < 2000 || read == 0; ++i) {
    std::uint64_t last = 0;
    ring.read([&](const trace_record& r) {
      ++read;
      EXPECT_TRUE(whole(r));
      EXPECT_TRUE(last == 0 || r.begin > last);
      last = r.begin;
    });
    std::uint64_t before = 0;
    ring.read_between(last, ~ticks{0}, [&](const trace_record& r) {
      EXPECT_TRUE(whole(r));
      EXPECT_GT(r.begin, std::max(last, before)) << "none twice, and none from before the interval";
      before = r.begin;
    });
    EXPECT_GE(ring.known_from() + 16, last) << "the oldest record, or one that is newer";
  }
  end = true;
  writer.join();
}

TEST(FlightRing, KeepsOnlySlicesAboveTheMinimumLength) {
  recorder r(1);
  r.flight(16, 1e-6);
  const ticks us = ticks_from(1e-6);
  r.worker(0).record({.name = 3, .key = 7, .begin = 1, .end = 1 + us / 2});
  r.worker(0).record({.name = 3, .key = 8, .begin = 10 * us, .end = 12 * us, .finished = false});
  std::vector<trace_record> kept;
  r.worker(0).flight()->read([&](const trace_record& x) { kept.push_back(x); });
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].key, 8u);
  EXPECT_EQ(kept[0].flags, 0u);
  r.flight(0);
  r.worker(0).record({.name = 3, .key = 9, .begin = 10 * us, .end = 12 * us});
  EXPECT_EQ(r.worker(0).flight(), nullptr);
}

TEST(FlightRing, IsKeptWhileTheProgramOrAUseNeedsIt) {
  recorder r(1, 2);
  const auto enabled = [&] { return r.worker(0).flight() != nullptr; };
  {
    const flight_use first(r, 16);
    {
      const flight_use second(r, 16);
      EXPECT_TRUE(enabled());
    }
    EXPECT_TRUE(enabled()) << "for the first";
    r.flight(16);
    r.flight(0);
    EXPECT_TRUE(enabled()) << "for the first";
    r.add_worker()->record({.name = 3, .begin = 1, .end = 1 + ticks_from(2e-6)});
    unsigned kept = 0;
    r.worker(1).flight()->read([&](const trace_record&) { ++kept; });
    EXPECT_EQ(kept, 1u);
  }
  EXPECT_FALSE(enabled());
  {
    const flight_use before(r, 16);
    r.flight(16);
  }
  EXPECT_TRUE(enabled()) << "the program has enabled it itself";
  { const flight_use after(r, 16); }
  EXPECT_TRUE(enabled());
  r.flight(0);
  EXPECT_FALSE(enabled());
}

}  // namespace
}  // namespace plx::probe
