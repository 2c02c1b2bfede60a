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
