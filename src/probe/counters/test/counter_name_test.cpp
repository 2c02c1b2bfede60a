#include "probe/counters/counter_name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using plx::probe::counter_name;
using plx::probe::split_counters;
using testing::ElementsAre;

TEST(CounterName, AnInstanceMayBeACounter) {
  const auto n = counter_name::parse("/statistics{/threads{locality#0/total}/idle-rate}/rolling_average@100,5");
  ASSERT_TRUE(n);
  EXPECT_EQ(n->object, "statistics");
  EXPECT_EQ(n->instance, "/threads{locality#0/total}/idle-rate");
  EXPECT_EQ(n->name, "rolling_average");
  EXPECT_EQ(n->parameters, "100,5");
  const auto nested = counter_name::parse("/statistics{/arithmetics/add@{/a{x}/y@1,2},/b/c}/max@10");
  ASSERT_TRUE(nested);
  EXPECT_EQ(nested->instance, "/arithmetics/add@{/a{x}/y@1,2},/b/c");
  for (const char* wrong : {"/a{b{c}/d", "/a{b}c}/d", "/a}/b"}) EXPECT_FALSE(counter_name::parse(wrong)) << wrong;
}

TEST(CounterName, TheLocalityOfAnInstance) {
  const auto locality = [](const char* text) { return counter_name::parse(text)->locality(); };
  EXPECT_EQ(locality("/threads{locality#12/total}/x"), "12");
  EXPECT_EQ(locality("/threads{locality#3}/x"), "3");
  EXPECT_EQ(locality("/threads{locality#*/worker-thread#1}/x"), "*");
  EXPECT_EQ(locality("/threads{worker-thread#1}/x"), "");
  EXPECT_EQ(locality("/threads/x"), "");
}

TEST(CounterName, ListsKeepTextInBraces) {
  EXPECT_THAT(*split_counters("/a/x, /b{c,d}/y ,"), ElementsAre("/a/x", "/b{c,d}/y"));
  EXPECT_THAT(*split_counters("{/arithmetics/add@/a/x,/b/x},/c/x"), ElementsAre("/arithmetics/add@/a/x,/b/x", "/c/x"));
  EXPECT_THAT(*split_counters("/statistics{/a/x}/max@100,5,/b/x"), ElementsAre("/statistics{/a/x}/max@100,5", "/b/x"));
  EXPECT_THAT(*split_counters(" { /a/x } "), ElementsAre("/a/x"));
  EXPECT_THAT(*split_counters(""), ElementsAre());
  EXPECT_FALSE(split_counters("/a{x"));
  EXPECT_FALSE(split_counters("/a}x{"));
}

}  // namespace
