#include "trace/tools/trace_stats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "trace/file/trace_writer.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;

/// A trace with `n` slices of "ts flux" of 1 us, but every hundredth of `slow_us`, and five of "ts wait" in two slices.
trace_statistics recorded(int n, double slow_us) {
  const std::string path = temporary_path("stats.plxt");
  recorder r(2);
  {
    auto w = *trace_writer::create(path);
    r.stream_to(w.get());
    r.trace(true, 1 << 14);
    const name_id flux = register_name("ts flux"), wait = register_name("ts wait");
    ticks now = now_ticks();
    for (int i = 0; i < n; ++i) {
      const ticks end = now + ticks_from(1e-6 * (i % 100 == 99 ? slow_us : 1));
      worker_log& log = r.worker(static_cast<unsigned>(i % 2));
      log.record({.name = flux, .begin = now, .end = end, .id = log.next_id(), .ready = now - ticks_from(2e-6)});
      now = end;
    }
    for (int i = 0; i < 5; ++i)
      for (const bool finished : {false, true}) {
        const ticks end = now + ticks_from(1e-3);
        r.worker(0).record({.name = wait, .begin = now, .end = end, .finished = finished});
        now = end;
      }
    r.trace(false);
    r.stream_to(nullptr);
  }
  auto s = statistics_of_trace({path});
  EXPECT_TRUE(s) << s.error().message;
  std::filesystem::remove(path);
  return *std::move(s);
}

TEST(TraceStats, CountEverySlice) {
  const trace_statistics s = recorded(1000, 50);
  EXPECT_EQ(s.workers, 2u);
  EXPECT_EQ(s.lost, 0u);
  EXPECT_TRUE(s.warnings.empty());
  ASSERT_EQ(s.types.size(), 2u);
  const slice_statistics &wait = s.types[0], &flux = s.types[1];
  EXPECT_EQ(wait.name, "ts wait");
  EXPECT_EQ(wait.slices, 10u);
  EXPECT_EQ(wait.tasks, 5u);
  EXPECT_NEAR(wait.total_s, 10e-3, 1e-6);
  EXPECT_EQ(wait.wait_s, 0);
  EXPECT_EQ(flux.slices, 1000u);
  EXPECT_NEAR(flux.total_s, 990e-6 + 10 * 50e-6, 1e-6);
  EXPECT_NEAR(flux.wait_s, 2e-3, 1e-5);
  EXPECT_NEAR(flux.min_s, 1e-6, 2e-9);
  EXPECT_NEAR(flux.max_s, 50e-6, 2e-9);
  for (const double share : {0.0, 0.5, 0.98}) {
    EXPECT_GE(flux.quantile_s(share), flux.min_s);
    EXPECT_LE(flux.quantile_s(share), 1.2e-6);
  }
  EXPECT_NEAR(flux.quantile_s(0.999), 50e-6, 2e-9);
  EXPECT_NEAR(s.wall_s, 11.49e-3, 1e-5);
}

TEST(TraceStats, ASliceCountsForThoseThatItRepresents) {
  const std::string path = temporary_path("stats_share.plxt");
  recorder r(1);
  {
    auto w = *trace_writer::create(path);
    r.stream_to(w.get());
    r.trace(true, 1 << 14, 0.1);
    const ticks begin = now_ticks();
    for (ticks i = 0; i < 1000; ++i)
      r.worker(0).record({.name = register_name("ts some"), .begin = begin + 1000 * i, .end = begin + 1000 * i + 900});
    r.trace(false);
    r.stream_to(nullptr);
  }
  const auto s = statistics_of_trace({path});
  std::filesystem::remove(path);
  ASSERT_TRUE(s && s->types.size() == 1);
  const slice_statistics& t = s->types[0];
  EXPECT_EQ(t.recorded, s->records);
  EXPECT_EQ(t.slices, 10 * t.recorded);
  EXPECT_EQ(t.tasks, t.slices);
  EXPECT_NEAR(static_cast<double>(t.slices), 1000, 50);
  EXPECT_NEAR(t.total_s, static_cast<double>(t.slices) * seconds(900), 1e-9);
  EXPECT_EQ(s->share, 0.1);
  EXPECT_THAT(statistics_text(*s), HasSubstr("share of some types to 10 %"));
}

TEST(TraceStats, AreTables) {
  const trace_statistics s = recorded(1000, 50);
  const std::string table = statistics_text(s, 1);
  EXPECT_THAT(table, HasSubstr("ts wait"));
  EXPECT_THAT(table, HasSubstr("and 1 more types\n"));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
  const std::string bars = histogram_text(s, "flux");
  EXPECT_THAT(bars, HasSubstr("ts flux: 1,000 slices, up to\n"));
  EXPECT_THAT(bars, HasSubstr("990 ####"));
  EXPECT_THAT(bars, HasSubstr("10 #\n"));
  EXPECT_EQ(bars.find("ts wait"), std::string::npos);
  EXPECT_EQ(histogram_text(s, "no such"), "");
}

TEST(TraceStats, ADifferenceHasPartsThatAddUp) {
  const trace_statistics a = recorded(1000, 50), b = recorded(2000, 150);
  const std::string text = difference_text(a, b);
  // 1000 more slices of 1.49 us: 1.49 ms by number; 2000 slices of 1 us more each: 2 ms by length.
  EXPECT_THAT(text, testing::ContainsRegex("ts flux +\\+3\\.49 ms +\\+1\\.49 ms +\\+2\\.00 ms"));
  EXPECT_THAT(text, testing::ContainsRegex("1\\.49 us -> 2\\.49 us"));
  EXPECT_THAT(difference_text(a, a), HasSubstr("(+0)"));
}

}  // namespace
}  // namespace plx::probe
