#include "probe/counters/gauge.hpp"

#include <gtest/gtest.h>

namespace {

using namespace plx::probe;

/// Two other processes, whose registries are called directly instead of through a network; the second does not answer.
struct others final : counter_source {
  counter_registry first{1};
  registration keep = first.add({"/threads{locality#1/total}/count/tasks", "1", "", true}, [] { return 11; });

  std::vector<unsigned> localities() override { return {1, 2}; }
  counter_registry* at(unsigned locality) { return locality == 1 ? &first : nullptr; }
  static plx::error silent() { return {"locality#2 does not answer"}; }
  plx::result<std::vector<counter_value>> query(unsigned l, std::string_view p, after_reading then) override {
    if (at(l) == nullptr) return silent();
    return at(l)->query(p, then);
  }
  plx::result<std::vector<counter_info>> list(unsigned l, std::string_view p) override {
    if (at(l) == nullptr) return silent();
    return at(l)->list(p);
  }
  plx::result<void> reset(unsigned l, std::string_view p) override {
    if (at(l) == nullptr) return silent();
    return at(l)->reset(p);
  }
};

struct fixture {
  counter_registry r;
  registration keep = r.add({"/threads{locality#0/total}/count/tasks", "1", "", true}, [] { return 10; });
};

TEST(CounterSource, WithoutOneThereIsOneClearError) {
  fixture f;
  EXPECT_EQ(f.r.query("/threads{locality#1/total}/count/tasks").error().message,
            "cannot read '/threads{locality#1/total}/count/tasks': this process is locality#0 and is connected to no "
            "other");
  EXPECT_FALSE(f.r.reset("/threads{locality#1/total}/count/tasks"));
  EXPECT_TRUE(f.r.list("/threads{locality#1/total}/count/tasks").empty());
  EXPECT_EQ(f.r.query("/threads{locality#*/total}/count/tasks")->size(), 1u);
  EXPECT_EQ(f.r.query("/threads{locality#0/total}/count/tasks")->size(), 1u);
}

TEST(CounterSource, OtherLocalitiesAreReadThroughTheSameCall) {
  fixture f;
  const auto network = std::make_shared<others>();
  f.r.set_source(network);
  EXPECT_EQ(f.r.query("/threads{locality#1/total}/count/tasks").value().at(0).value, 11);
  const auto all = f.r.query("/threads{locality#*/total}/count/tasks").value();
  ASSERT_EQ(all.size(), 2u);  // a locality that does not answer is omitted
  EXPECT_EQ(all[1].name, "/threads{locality#1/total}/count/tasks");
  EXPECT_EQ(f.r.list("/threads{locality#*/total}/*").size(), 2u);
  EXPECT_EQ(f.r.query("/threads{locality#2/total}/count/tasks").error().message, "locality#2 does not answer");
  EXPECT_EQ(f.r.query("/threads{locality#7/total}/count/tasks").error().message,
            "cannot read '/threads{locality#7/total}/count/tasks': locality#7 does not exist, expected one of 1, 2");
  ASSERT_TRUE(f.r.reset("/threads{locality#1/total}/count/tasks"));
  EXPECT_EQ(f.r.query("/threads{locality#1/total}/count/tasks").value().at(0).value, 0);
  EXPECT_NE(f.r.find("/threads{locality#1/total}/count/tasks").error().message.find("of another locality"),
            std::string::npos);
  f.r.set_source(nullptr);
  EXPECT_FALSE(f.r.query("/threads{locality#1/total}/count/tasks"));
}

}  // namespace
