#include "trace/tools/trace_stats.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

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

/// The energy until a moment, by the samples of a trace: the time of each sample is known to the reader alone.
double joules_at(const std::vector<trace_sample>& samples, ticks when) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    const double length = static_cast<double>(samples[i + 1].when - samples[i].when);
    const double part = (static_cast<double>(when) - static_cast<double>(samples[i].when)) / length;
    sum += std::clamp(part, 0.0, 1.0) * (samples[i + 1].value - samples[i].value);
  }
  return sum;
}

/// Two workers; the power of the second interval is three times that of the first.
TEST(TraceStats, EnergyIsDividedAmongTheSlicesOfEachInterval) {
  const std::string path = temporary_path("stats_energy.plxt");
  recorder r(2);
  {
    auto w = *trace_writer::create(path);
    r.stream_to(w.get());
    r.trace(true, 1 << 14);
    std::vector<ticks> at;
    for (const double joules : {0, 1, 4, 4}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      r.trace_counter("/system{total}/energy", joules);
      r.trace_counter("/another", 1000 * joules);
      at.push_back(now_ticks());
    }
    const auto slice = [&](unsigned worker, const char* name, ticks begin, ticks end) {
      r.worker(worker).record({.name = register_name(name), .begin = begin, .end = end});
    };
    slice(0, "te early", at[0] - ticks_from(0.004), at[0] - ticks_from(0.003));
    slice(0, "te first", at[0], at[1]);
    slice(0, "te half", at[1], (at[1] + at[2]) / 2);
    slice(1, "te both", at[0], at[2]);
    r.trace(false);
    r.stream_to(nullptr);
  }
  const auto s = statistics_of_trace({path});
  const auto loaded = load_trace({path});
  std::filesystem::remove(path);
  ASSERT_TRUE(s && loaded && s->types.size() == 4);
  std::vector<trace_sample> samples;
  for (const trace_sample& one : loaded->trace.data.samples)
    if (one.name == "/system{total}/energy") samples.push_back(one);
  ASSERT_EQ(samples.size(), 4u);
  double of_tasks = 0;
  for (const auto& worker : loaded->trace.data.workers)
    for (const trace_slice& slice : worker) {
      const auto same = [&](const slice_statistics& t) { return t.name == name_of(slice.name); };
      const double expected = (joules_at(samples, slice.end) - joules_at(samples, slice.begin)) / 2;
      EXPECT_NEAR(std::find_if(s->types.begin(), s->types.end(), same)->energy_j, expected, 1e-6);
      of_tasks += expected;
    }
  EXPECT_NEAR(s->energy_j, 4, 1e-9);
  EXPECT_GT(of_tasks, 1);  // 3.25, if the test is not interrupted between a sample and the reading of its time
  const std::string text = statistics_text(*s);
  EXPECT_THAT(text, HasSubstr(fmt::format("energy of the machine: 4 J: tasks {:.3g} J, no task {:.3g} J\n", of_tasks,
                                          4 - of_tasks)));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
  EXPECT_EQ(statistics_text(recorded(10, 1)).find("energy"), std::string::npos);
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
