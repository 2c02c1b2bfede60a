#include "probe/live/live_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace plx::probe {
namespace {

using testing::HasSubstr;

TEST(LiveJson, NumbersReadBackToTheSameValue) {
  for (const double v : {0.0, 1.0, 0.1, 1e300, 1.0 / 3, 9007199254740993.0, -2.5e-7})
    EXPECT_EQ(std::stod(json_number(v)), v);
  EXPECT_EQ(json_number(NAN), "null");
  EXPECT_EQ(json_number(INFINITY), "null");
}

TEST(LiveJson, CountersWithTheirDescriptions) {
  counter_registry c;
  const auto a = c.add({"/a/b", "s", "help", true}, [] { return 2.5; });
  EXPECT_EQ(counters_json(c, "/a/*", 1).value(),
            "{\"time_s\":1.000000,\"counters\":[{\"name\":\"/a/"
            "b\",\"value\":2.5,\"unit\":\"s\",\"help\":\"help\",\"monotonic\":true}]}\n");
  EXPECT_FALSE(counters_json(c, "/nothing/*", 1));
  const counter_catalog first = catalog_of(c), second = catalog_of(c);
  EXPECT_EQ(first.values, "[2.5]");
  EXPECT_EQ(first.number, second.number);
  const auto b = c.add({"/a/c"}, [] { return 0; });
  EXPECT_NE(catalog_of(c).number, first.number) << "a new counter changes the catalog";
}

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
  EXPECT_THAT(timeline_json(r, {}, {.end = at(20.75), .length = at(20.75) - at(19.25), .bins = 100, .end_s = 7.5}),
              HasSubstr("\"end_s\":7.5,\"names\":[\"timeline.b\",\"timeline.a\"],\"from\":[0.0],"
                        "\"workers\":[[[0,0.0,250000.0,1],[1,750000.0,500000.0,1]]]"));
  EXPECT_THAT(timeline_json(r, {}, {.end = at(30.9), .length = at(30.9) - at(30.6)}), HasSubstr("\"workers\":[[]]"));
}

/// A window of 1 % of what 128 rings hold: its records, and some 20 per ring to find them.
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
    EXPECT_LE(visited(first), workers * (shown + 15)) << "a ring has " << records << " records";
  }
}

TEST(LiveJson, StacksWithoutTheRareOnes) {
  sample_tree t;
  const auto add = [&](const char* type, std::uint16_t periods) {
    t.add({sampled_activity::task, true, periods, register_name(type), {}});
  };
  add("stacks rare", 1), add("stacks \"often\"", 999), add("stacks other", 300);
  EXPECT_EQ(stacks_json(t, 100, 2.5),
            "{\"hz\":100,\"seconds\":2.500,\"total\":1300,\"calls\":[[-1,999,999,\"stacks \\\"often\\\"\"],\n"
            "[-1,300,300,\"stacks other\"]]}");
  EXPECT_EQ(stacks_json(sample_tree(), 100, 0), "{\"hz\":100,\"seconds\":0.000,\"total\":0,\"calls\":[]}");
}

TEST(LiveJson, APictureIsScaledToSixteenBits) {
  live_picture p{
      .title = "density", .width = 2, .height = 2, .values = {1, 2, 3, NAN}, .blocks = {{0, 0, 1, 1, NAN, 2, 0}}};
  std::string text = picture_json(p, 7);
  EXPECT_THAT(text, HasSubstr("\"number\":7"));
  EXPECT_THAT(text, HasSubstr("\"low\":1,\"high\":3,\"log\":false,\"values\":\"AAD/f/7///8=\""));
  EXPECT_THAT(text, HasSubstr("\"blocks\":[[0,0,1,1,null,2,0]]"));
  p.values = {1, 10, 100, 1000};
  EXPECT_THAT(picture_json(p, 8), HasSubstr("\"log\":true"));
  p.values = {NAN, NAN, NAN, NAN};
  EXPECT_THAT(picture_json(p, 9), HasSubstr("\"low\":null"));
  p.values = {5, 5, 5, 5};
  EXPECT_THAT(picture_json(p, 9), HasSubstr("\"values\":\"AAAAAAAAAAA=\""));
}

}  // namespace
}  // namespace plx::probe
