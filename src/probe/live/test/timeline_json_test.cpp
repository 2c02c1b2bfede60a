#include "probe/live/timeline_json.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "probe/crash/flight_ring.hpp"

namespace plx::probe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Timeline : public testing::Test {
 protected:
  // A window of a second in 10 bins; `at` is in fractions of it.
  static trace_slice slice(name_id name, double at, double length) {
    return {.begin = begin + static_cast<ticks>(at * second),
            .end = begin + static_cast<ticks>((at + length) * second),
            .name = name};
  }
  static std::string json(std::vector<trace_slice> slices) {
    return timeline_json({{.slices = std::move(slices)}}, {}, window());
  }
  static timeline_window window() {
    return {.end = begin + static_cast<ticks>(second), .length = static_cast<ticks>(second), .bins = 10, .end_s = 4.5};
  }
  static inline const double second = ticks_per_second();
  static inline const ticks begin = static_cast<ticks>(5 * ticks_per_second());
  static inline const name_id a = register_name("timeline.a"), b = register_name("timeline.b");
};

TEST_F(Timeline, LongSlicesAreNotMerged) {
  const std::string text = json({slice(a, 0.1, 0.3), slice(b, 0.5, 0.2)});
  EXPECT_THAT(text, HasSubstr("\"names\":[\"timeline.a\",\"timeline.b\"]"));
  EXPECT_THAT(text, HasSubstr("[[0,100000.0,300000.0,1],[1,500000.0,200000.0,1]]"));
}

TEST_F(Timeline, ShortSlicesOfOneBinAreMergedUnderTheNameWithMostTime) {
  const std::string text =
      json({slice(a, 0.21, 0.01), slice(b, 0.23, 0.03), slice(a, 0.27, 0.01), slice(b, 0.31, 0.01)});
  EXPECT_THAT(text, HasSubstr("[0,210000.0,50000.0,3],[0,310000.0,10000.0,1]"));
  EXPECT_THAT(text, HasSubstr("\"names\":[\"timeline.b\"]"));
}

TEST_F(Timeline, SlicesAreClippedToTheWindow) {
  const std::string text = json({slice(a, -2, 0.5), slice(a, -0.2, 0.5), slice(b, 0.8, 1), slice(b, 1.2, 1)});
  EXPECT_THAT(text, HasSubstr("[[0,0.0,300000.0,1],[1,800000.0,200000.0,1]]"));
}

TEST_F(Timeline, ContainsTheTimeFromWhichSlicesAreKnown) {
  const auto known_from = [](double at) {
    return timeline_json({{.known_from = begin + static_cast<ticks>(at * second)}}, {}, window());
  };
  EXPECT_THAT(known_from(-1), HasSubstr("\"from\":[0.0]"));
  EXPECT_THAT(known_from(0.25), HasSubstr("\"from\":[250000.0]"));
  EXPECT_THAT(known_from(2), HasSubstr("\"from\":[1000000.0]"));
}

TEST_F(Timeline, LanesOfDevicesAreRowsOfTheirOwn) {
  const std::string text = timeline_json({{.slices = {slice(a, 0.1, 0.3)}}},
                                         {{.slices = {slice(b, 0.2, 0.1)},
                                           .known_from = begin + static_cast<ticks>(0.2 * second),
                                           .lane = "gpu 0, stream 1"},
                                          {.slices = {slice(a, 0.5, 0.1)}, .lane = "gpu 0, stream \"2\""}},
                                         window());
  EXPECT_THAT(text, HasSubstr("\"from\":[0.0],\"workers\":[[[0,100000.0,300000.0,1]]],"));
  EXPECT_THAT(text, HasSubstr("\"lanes\":[\"gpu 0, stream 1\",\"gpu 0, stream \\\"2\\\"\"],"));
  EXPECT_THAT(text, HasSubstr("\"lane_from\":[200000.0,0.0],"
                              "\"lane_rows\":[[[1,200000.0,100000.0,1]],[[0,500000.0,100000.0,1]]]}"));
}

TEST_F(Timeline, AMillionSlicesAreMergedIntoTheNumberOfBins) {
  std::vector<trace_slice> many;
  for (int i = 0; i < 1000000; ++i) many.push_back(slice(a, i * 1e-6, 0.9e-6));
  EXPECT_LT(json(std::move(many)).size(), 500u);
}

/// The same text as from a copy of the slices, except for overwritten ones.
TEST_F(Timeline, ThatOfARecorderIsBuiltFromTheRings) {
  recorder r(2);
  r.flight(8, 0);
  std::vector<trace_slice> there;
  for (int i = 0; i < 20; ++i) {
    const trace_slice s = slice(i % 3 == 0 ? a : b, i * 0.04, i % 4 == 0 ? 0.03 : 0.002);
    r.worker(0).record({.name = s.name, .begin = s.begin, .end = s.end});
    if (i >= 12) there.push_back(s);
  }
  const ticks known = there.front().begin;
  EXPECT_EQ(timeline_json(r, {}, window()), timeline_json({{.slices = there, .known_from = known}, {}}, {}, window()));
}

TEST_F(Timeline, AWindowInThePastIsThatOfItsSlices) {
  recorder r(1);
  r.flight(64, 0);
  for (int i = 0; i < 50; ++i) {
    const trace_slice s = slice(i % 2 == 0 ? a : b, i, 0.5);
    r.worker(0).record({.name = s.name, .begin = s.begin, .end = s.end});
  }
  const auto at = [](double t) { return begin + static_cast<ticks>(t * second); };
  EXPECT_THAT(
      timeline_json(r, {}, {.end = at(20.75), .length = at(20.75) - at(19.25), .bins = 100, .end_s = 7.5}),
      AllOf(HasSubstr("\"end_s\":7.5,"), HasSubstr("\"names\":[\"timeline.b\",\"timeline.a\"],\"from\":[0.0],"
                                                   "\"workers\":[[[0,0.0,250000.0,1],[1,750000.0,500000.0,1]]]")));
  EXPECT_THAT(timeline_json(r, {}, {.end = at(30.9), .length = at(30.9) - at(30.6)}), HasSubstr("\"workers\":[[]]"));
}

/// A window of 1 % of what 128 rings hold: its records, and some 30 per ring to find them.
TEST_F(Timeline, OnlyTheRecordsOfTheWindowAreRead) {
  constexpr unsigned workers = 128, records = 1u << 12, shown = 41;
  recorder r(workers);
  r.flight(records, 0);
  const ticks length = static_cast<ticks>(1e-3 * second);
  for (unsigned w = 0; w < workers; ++w)
    for (unsigned i = 0; i < records + 100; ++i)
      r.worker(w).record({.name = a, .begin = begin + i * length, .end = begin + i * length + length / 2});
  const auto visited = [&](unsigned first) {
    std::uint64_t n = 0;
    const std::string text =
        timeline_json(r, {}, {.end = begin + (first + shown) * length, .length = shown * length, .bins = 1000}, &n);
    EXPECT_THAT(text, HasSubstr(",1]]")) << "the rows have slices";
    return n;
  };
  for (const unsigned first : {100u, 2000u, records + 100 - shown}) {
    EXPECT_GE(visited(first), workers * shown);
    EXPECT_LE(visited(first), workers * (shown + 30)) << "a ring has " << records << " records";
  }
}

/// The numbers of row `i` of the workers.
std::vector<double> numbers_of_row(const std::string& json, std::size_t i) {
  std::size_t at = json.find("\"workers\":[") + 11;
  for (std::size_t k = 0; k <= i; ++k) at = json.find('[', at) + 1;
  std::istringstream text(json.substr(at, json.find(']', at) - at));
  std::vector<double> all;
  for (std::string one; std::getline(text, one, ',');) all.push_back(std::stod(one));
  return all;
}

/// Random slices of 2 names, some of them longer than a bin, on `workers` workers.
class Grouped : public Timeline {
 protected:
  static constexpr int bins = 20;
  static timeline_window all() {
    timeline_window w = window();
    w.bins = bins;
    return w;
  }
  explicit Grouped(unsigned workers = 11, double mean = 4e-3) : r_(workers), slices_(workers) {
    r_.flight(std::size_t{1} << 16, 0);
    std::mt19937 random(7);
    std::exponential_distribution<double> length(1 / mean), pause(1 / (0.3 * mean));
    for (unsigned w = 0; w < workers; ++w)
      for (double t = 0; t < 1.01;) {
        const bool is_long = random() % 500 == 0;
        const trace_slice s = slice(random() % 4 == 0 ? a : b, t, is_long ? 0.11 : length(random));
        t = static_cast<double>(s.end - begin) / second + pause(random);
        r_.worker(w).record({.name = s.name, .begin = s.begin, .end = s.end});
        slices_[w].push_back(s);
      }
  }
  /// In percent of the time of these workers in a bin, by name; from the slices themselves.
  std::map<name_id, double> share(unsigned first, unsigned n, int bin) const {
    std::map<name_id, double> sums;
    const double from = static_cast<double>(begin) + bin * second / bins, to = from + second / bins;
    for (unsigned w = first; w < first + n; ++w)
      for (const trace_slice& s : slices_[w]) {
        const double part = std::min(to, static_cast<double>(s.end)) - std::max(from, static_cast<double>(s.begin));
        if (part > 0) sums[s.name] += 100 * part / (to - from) / n;
      }
    return sums;
  }
  /// The largest difference of a bin of a row to the slices, in percent.
  double error(const std::string& json, std::size_t row, unsigned first, unsigned n) const {
    const std::vector<double> numbers = numbers_of_row(json, row);
    double worst = 0;
    std::size_t k = 0;
    for (int bin = 0; bin < bins; ++bin) {
      const double percent = numbers.at(k++);
      if (percent > 0) ++k;
      double sum = 0;
      for (const auto& [name, part] : share(first, n, bin)) sum += part;
      worst = std::max(worst, std::abs(percent - sum));
    }
    return worst;
  }

  recorder r_;
  std::vector<std::vector<trace_slice>> slices_;
};

TEST_F(Grouped, ARowOfSeveralWorkersHasTheShareOfTheirTimeInEachBin) {
  timeline_window w = all();
  w.rows = 3;  // of 4, 4 and 3 workers
  const std::string text = timeline_json(r_, {}, w);
  EXPECT_THAT(text, HasSubstr("\"first\":0,\"of\":11,\"group\":4,"));
  EXPECT_THAT(text, HasSubstr("\"every\":1,"));
  for (unsigned row = 0; row < 3; ++row) EXPECT_LE(error(text, row, 4 * row, row == 2 ? 3 : 4), 0.6) << row;
  // The name of a bin is the one with most time, where the difference is clear.
  const bool a_first = text.find("timeline.a") < text.find("timeline.b");
  const std::vector<double> numbers = numbers_of_row(text, 0);
  for (int bin = 0; bin < bins; ++bin) {
    ASSERT_GT(numbers.at(2 * static_cast<std::size_t>(bin)), 0) << "these workers are never idle for a bin";
    const auto sums = share(0, 4, bin);
    const bool is_a = (numbers[2 * static_cast<std::size_t>(bin) + 1] == 0) == a_first;
    EXPECT_EQ(is_a, sums.count(a) != 0 && sums.at(a) > sums.at(b)) << bin;
  }
}

TEST_F(Grouped, SomeWorkersAreRowsOfTheirOwn) {
  timeline_window w = all();
  w.rows = 3, w.first = 4, w.workers = 3;
  const std::string text = timeline_json(r_, {}, w);
  EXPECT_THAT(text, HasSubstr("\"first\":4,\"of\":11,\"group\":1,"));
  timeline_window same = w;
  same.rows = ~0u;
  EXPECT_EQ(text, timeline_json(r_, {}, same));
  w.first = 9;  // two remain
  EXPECT_THAT(timeline_json(r_, {}, w), HasSubstr("\"from\":[0.0,0.0],"));
  w.first = 100;
  EXPECT_THAT(timeline_json(r_, {}, w), HasSubstr("\"from\":[],\"workers\":[],"));
}

class Sampled : public Grouped {
 protected:
  Sampled() : Grouped(8, 2e-5) {}  // some 4,000 slices of each worker, and 8 long ones
};

TEST_F(Sampled, OfManySlicesFewAreReadAndTheLongOnesAreExact) {
  timeline_window w = all();
  w.rows = 2;
  std::uint64_t every_one = 0, some = 0;
  w.records = ~0u;
  timeline_json(r_, {}, w, &every_one);
  w.records = every_one / 20;
  const std::string text = timeline_json(r_, {}, w, &some);
  EXPECT_GE(std::stoi(text.substr(text.find("\"every\":") + 8)), 35);
  EXPECT_LT(some, every_one / 20 + 8 * (100 + 40 * bins));
  for (unsigned row = 0; row < 2; ++row) EXPECT_LE(error(text, row, 4 * row, 4), 10) << row;

  // Rows of one worker: each slice as long as a bin is there with its length.
  w.rows = 8;
  const std::string single = timeline_json(r_, {}, w);
  unsigned long_ones = 0;
  for (unsigned row = 0; row < 8; ++row) {
    for (const trace_slice& s : slices_[row]) {
      if (s.end - s.begin < static_cast<ticks>(0.1 * second) || s.begin < begin || s.end > window().end) continue;
      ++long_ones;
      const double from_us = seconds(s.begin - begin) * 1e6, length_us = seconds(s.end - s.begin) * 1e6;
      EXPECT_THAT(single, HasSubstr(fmt::format(",{:.1f},{:.1f},1]", from_us, length_us)));
    }
  }
  EXPECT_GT(long_ones, 20u);
}

/// As many workers as a large machine has, with full rings: the text and the reads are bounded.
TEST_F(Timeline, TheCostDoesNotGrowWithTheNumberOfWorkers) {
  constexpr unsigned records = 1u << 13;
  const auto cost = [&](unsigned workers) {
    recorder r(workers);
    r.flight(records, 0);
    const ticks length = static_cast<ticks>(second / records);
    for (unsigned w = 0; w < workers; ++w)
      for (unsigned i = 0; i < records; ++i)
        r.worker(w).record(
            {.name = i % 2 == 0 ? a : b, .begin = begin + i * length, .end = begin + i * length + length / 2});
    timeline_window w = window();
    w.bins = workers > 32 ? 100 : 800, w.rows = 32, w.records = 2 * records;
    std::uint64_t visited = 0;
    const std::string text = timeline_json(r, {}, w, &visited);
    return std::pair(text.size(), visited);
  };
  const auto [bytes_of_2, reads_of_2] = cost(2);
  const auto [bytes_of_128, reads_of_128] = cost(128);
  EXPECT_LE(bytes_of_128, bytes_of_2);
  EXPECT_LE(reads_of_128, 4 * reads_of_2) << "64 times as many records";
}

// -------------------------------------------------------------------------------------------------------- single
// slices

class SliceAndParent : public Timeline {
 protected:
  SliceAndParent() : r_(2) {
    r_.flight(64, 0);
    r_.flight_links(true);
  }
  void record(unsigned worker, name_id name, double at, double length, task_id id, task_id cause) {
    const trace_slice s = slice(name, at, length);
    r_.worker(worker).record({.name = name, .key = 17, .begin = s.begin, .end = s.end, .id = id, .cause = cause});
  }
  std::string at(unsigned worker, double t) const {
    return slice_json(r_, worker, begin + static_cast<ticks>(t * second), begin);
  }
  recorder r_;
};

TEST_F(SliceAndParent, TheParentIsTheLastSliceOfTheCauseBeforeTheSlice) {
  record(0, a, 0.1, 0.1, 70, 0);
  record(0, a, 0.3, 0.3, 70, 0);
  record(0, a, 0.7, 0.1, 70, 0);  // later than its child
  record(1, b, 0.35, 0.1, 71, 70);
  const auto us = [](ticks t) { return fmt::format("{:.3f}", seconds(t) * 1e6); };  // of whole ticks
  const trace_slice child = slice(b, 0.35, 0.1), parent = slice(a, 0.3, 0.3);
  EXPECT_EQ(
      at(1, 0.4),
      fmt::format("{{\"slice\":{{\"task\":\"71\",\"name\":\"timeline.b\",\"key\":17,\"length\":{}}},\"several\":false,"
                  "\"join\":false,\"parent\":{{\"task\":\"70\",\"name\":\"timeline.a\",\"worker\":0,\"begin\":{},"
                  "\"length\":{}}}}}",
                  us(child.end - child.begin), us(parent.begin - begin), us(parent.end - parent.begin)));
  EXPECT_EQ(at(1, 0.46), "{\"slice\":null}");
  EXPECT_EQ(at(7, 0.4), "{\"slice\":null}") << "no such worker";
}

TEST_F(SliceAndParent, ThereMayBeNone) {
  record(0, a, 0.1, 0.1, 1, 0);
  EXPECT_THAT(at(0, 0.15), HasSubstr("\"task\":\"1\""));
  EXPECT_THAT(at(0, 0.15), HasSubstr("\"several\":false,\"join\":false,\"parent\":null}"));
  record(0, a, 0.3, 0.1, 2, join_bit | 5);
  EXPECT_THAT(at(0, 0.35), HasSubstr("\"several\":false,\"join\":true,\"parent\":null}"));
  record(0, a, 0.5, 0.1, 3, 1 | last_input_bit);
  EXPECT_THAT(at(0, 0.55),
              HasSubstr("\"several\":true,\"join\":false,\"parent\":{\"task\":\"1\",\"name\":\"timeline.a\""));
  record(0, a, 0.7, 0.1, 4, 99);
  EXPECT_THAT(at(0, 0.75), HasSubstr("\"parent\":{\"task\":\"99\",\"name\":null}}"));
}

TEST_F(SliceAndParent, NothingIsRecordedUnlessRequested) {
  const unsigned before = wanted.load();
  r_.flight_links(false);
  EXPECT_EQ(wanted.load(), before - wants_edges);
  record(0, a, 0.1, 0.1, 1, 2);
  EXPECT_EQ(r_.worker(0).links(), nullptr);
  EXPECT_THAT(at(0, 0.15), HasSubstr("\"task\":null"));
  r_.flight_links(true);
  EXPECT_EQ(r_.worker(0).links()->pushed(), 0u);
  record(0, a, 0.3, 0.1, 1, 2);
  EXPECT_EQ(r_.worker(0).links()->pushed(), 1u);
}

TEST_F(SliceAndParent, TwoPagesRequestParentsIndependently) {
  const unsigned before = wanted.load();
  r_.flight_links(true);
  r_.flight_links(false);
  EXPECT_EQ(wanted.load(), before) << "the first one still wants them";
  record(0, a, 0.1, 0.1, 1, 2);
  ASSERT_NE(r_.worker(0).links(), nullptr);
  EXPECT_EQ(r_.worker(0).links()->pushed(), 1u);
  r_.flight_links(false);
  EXPECT_EQ(wanted.load(), before - wants_edges);
  EXPECT_EQ(r_.worker(0).links(), nullptr);
}

}  // namespace
}  // namespace plx::probe
