#include "probe/crash/flight_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/file.hpp"
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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
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

}  // namespace
}  // namespace plx::probe
