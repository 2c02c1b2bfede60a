// A part of a run: the chunks of other times are skipped, and nothing within the range is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/trace_ring.hpp"
#include "trace/file/run_files.hpp"
#include "trace/file/trace_writer.hpp"
#include "trace/tools/slice_sink.hpp"
#include "trace/tools/trace_search.hpp"
#include "trace/tools/trace_stats.hpp"

namespace plx::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr unsigned n_slices = 60'000;

struct TraceRange : testing::Test {
  TraceRange() { std::filesystem::remove(path); }
  ~TraceRange() override { std::filesystem::remove(path); }
  const std::string path = temporary_path("range.plxt");

  /// Slices of 1 us, one every 2 us, on two workers, with keys by number. Those with an even number need two records.
  void record() const {
    recorder r(2);
    auto w = *trace_writer::create(path);
    r.stream_to(w.get());
    r.trace(true, 1 << 17);
    const name_id work = register_name("tr work"), rare = register_name("tr rare");
    const ticks from = now_ticks();
    for (unsigned i = 0; i < n_slices; ++i) {
      worker_log& log = r.worker(i % 2);
      const ticks begin = from + ticks_from(2e-6 * i);
      log.record({.name = i % 5000 == 17 ? rare : work,
                  .key = i % 4 < 2 ? (std::uint64_t{1} << 40) + i : i,
                  .begin = begin,
                  .end = begin + ticks_from(i % 1000 == 3 ? 1e-3 : 1e-6),
                  .id = log.next_id(),
                  .ready = begin - ticks_from(1e-9 * (i % 300))});
    }
    r.mark("mark", "now");
    r.trace_counter("/x", 1);
    r.trace(false);
    r.stream_to(nullptr);
  }
};

std::vector<trace_slice> all_slices(const trace_data& d) {
  std::vector<trace_slice> all;
  for (const auto& w : d.workers) all.insert(all.end(), w.begin(), w.end());
  return all;
}

TEST_F(TraceRange, GivesTheSlicesThatOverlapIt) {
  record();
  const auto whole = load_trace({path});
  ASSERT_TRUE(whole);
  const trace_data& d = whole->trace.data;
  ASSERT_EQ(all_slices(d).size(), n_slices);
  const double first_s = seconds(d.workers[0][0].begin - d.origin);
  for (int part = 0; part < 40; ++part) {
    const time_range range{.from_s = first_s + 1e-3 * part, .to_s = first_s + 1e-3 * part + 0.7e-3};
    const auto read = load_trace({path}, ~0ull, range);
    ASSERT_TRUE(read);
    const ticks from = d.origin + ticks_from(range.from_s), to = d.origin + ticks_from(range.to_s);
    std::vector<trace_slice> expected = all_slices(d);
    std::erase_if(expected, [&](const trace_slice& s) { return s.end < from || s.begin > to; });
    const std::vector<trace_slice> found = all_slices(read->trace.data);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_GT(found.size(), 300u);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(std::tie(found[i].begin, found[i].end, found[i].key, found[i].id, found[i].ready),
                std::tie(expected[i].begin, expected[i].end, expected[i].key, expected[i].id, expected[i].ready));
    EXPECT_THAT(read->warnings, ElementsAre(HasSubstr("a part of the run")));
  }
}

TEST_F(TraceRange, AChunkEndsWithAWholeSlice) {
  record();
  struct ends final : trace_sink {
    void records(unsigned, std::span<const trace_record> some) override {
      ++chunks;
      const std::uint32_t flags = some.back().flags;
      EXPECT_TRUE((flags & detail::is_packed) != 0 || (flags & trace_record::is_link) == 0);
    }
    int chunks = 0;
  } sink;
  ASSERT_TRUE(read_trace(path, sink));
  EXPECT_GT(sink.chunks, 4);
}

TEST_F(TraceRange, SkippedChunksAreNotRead) {
  record();
  std::string damaged = read_file(path).value();
  char& byte = damaged[damaged.size() * 3 / 4];
  byte = static_cast<char>(byte ^ 0x10);
  std::ofstream(path, std::ios::binary) << damaged;
  EXPECT_THAT(load_trace({path})->warnings, ElementsAre(HasSubstr("1 damaged part")));
  const auto some = statistics_of_trace({path}, {.to_s = 1e-3});
  ASSERT_TRUE(some);
  EXPECT_TRUE(some->warnings.empty());
  EXPECT_LT(some->records, n_slices);
}

TEST_F(TraceRange, StatisticsAndMomentsAreThoseOfTheRange) {
  record();
  const auto all = statistics_of_trace({path}), none = statistics_of_trace({path}, {.from_s = 3600});
  ASSERT_TRUE(all && none);
  EXPECT_EQ(all->types.at(0).slices + all->types.at(1).slices, n_slices);
  EXPECT_TRUE(none->types.empty());
  const auto begin = load_trace({path}, ~0ull, {.to_s = 0});
  ASSERT_TRUE(begin);
  EXPECT_TRUE(begin->trace.data.marks.empty());
  EXPECT_TRUE(begin->trace.data.samples.empty());
  EXPECT_EQ(load_trace({path}, ~0ull, {.to_s = 3600})->trace.data.marks.size(), 1u);
}

TEST_F(TraceRange, IsOfTheRootsClockOnOtherLocalities) {
  const std::string other = path + ".1";
  const double rate = ticks_per_second();
  const auto write = [](const std::string& to, const trace_start& start, ticks step, bool root) {
    auto w = *trace_writer::create(to);
    w->begin(start);
    std::vector<trace_record> some;
    for (ticks i = 0; i < 10; ++i)
      some.push_back({.begin = start.origin + i * step,
                      .end = start.origin + i * step + step / 2,
                      .key = 0,
                      .name = unnamed,
                      .flags = 0});
    w->records(0, some);
    if (root) {  // locality 1: twice as fast, and its start is 1 s after the root's
      w->clock(1, 2 * start.ticks_per_second,
               {.there = 5000, .here = start.origin + static_cast<ticks>(start.ticks_per_second)});
      w->clock(1, 2 * start.ticks_per_second,
               {.there = 5000 + static_cast<ticks>(200 * start.ticks_per_second),
                .here = start.origin + static_cast<ticks>(101 * start.ticks_per_second)});
    }
    w->totals({.records = 10, .ended = true});
  };
  const auto second = static_cast<ticks>(rate);
  write(path, {.origin = 1000, .ticks_per_second = rate, .locality = 0, .localities = 2}, second, true);
  write(other, {.origin = 5000, .ticks_per_second = 2 * rate, .locality = 1, .localities = 2}, 2 * second, false);
  // Seconds 4.6 to 6.2: slices 5 and 6 of the root, and those that begin at 4 + 1 s and 5 + 1 s on the other.
  const auto read = load_trace({other, path}, ~0ull, {.from_s = 4.6, .to_s = 6.2});
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->trace.data.workers.size(), 2u);
  const auto begins = [&](unsigned w) {
    std::vector<double> all;
    for (const trace_slice& s : read->trace.data.workers[w]) all.push_back(std::round(seconds(s.begin - 1000)));
    return all;
  };
  EXPECT_THAT(begins(0), ElementsAre(5, 6));
  EXPECT_THAT(begins(1), ElementsAre(5, 6));
  std::filesystem::remove(other);
}

TEST_F(TraceRange, FindsTheLongestTheFirstAndThoseThatWaitedLongest) {
  record();
  const auto longest = find_slices({path}, {.name = "work", .at_least_s = 0.5e-3, .rows = 5});
  ASSERT_TRUE(longest) << longest.error().message;
  EXPECT_EQ(longest->matches, n_slices / 1000);
  EXPECT_NEAR(longest->total_s, 1e-3 * longest->matches, 1e-6);
  ASSERT_EQ(longest->slices.size(), 5u);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_GE(longest->slices[i - 1].length_s, longest->slices[i].length_s);
    EXPECT_EQ(name_of(longest->slices[i].name), "tr work");
  }
  const auto rare = find_slices({path}, {.name = "rare", .by = slice_search::order::first, .rows = 3});
  ASSERT_TRUE(rare);
  EXPECT_EQ(rare->matches, n_slices / 5000);
  ASSERT_EQ(rare->slices.size(), 3u);
  EXPECT_NEAR(rare->slices[2].begin_s - rare->slices[0].begin_s, 2e-6 * 10'000, 1e-7);
  const auto waited = find_slices({path}, {.by = slice_search::order::longest_wait, .rows = 1});
  ASSERT_TRUE(waited);
  EXPECT_EQ(waited->matches, n_slices);
  EXPECT_NEAR(waited->slices.at(0).wait_s, 299e-9, 2e-9);
  const auto key = find_slices({path}, {.key = 4002});
  ASSERT_TRUE(key);
  ASSERT_EQ(key->slices.size(), 1u);
  const auto task = find_slices({path}, {.task = key->slices[0].task, .rows = 7});
  ASSERT_TRUE(task);
  EXPECT_EQ(task->slices.at(0).key, 4002u);
  EXPECT_EQ(task->matches, 1u);
  EXPECT_THAT(search_text(*longest), testing::StartsWith("60 slices, 60"));
  EXPECT_THAT(search_text(*longest), HasSubstr("; 5 of them:"));
  EXPECT_EQ(search_text(*find_slices({path}, {.name = "no such type"})), "0 slices, 0 in total\n");
}

}  // namespace
}  // namespace plx::probe
