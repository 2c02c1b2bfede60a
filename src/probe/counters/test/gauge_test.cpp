#include "probe/counters/gauge.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace {

using namespace plx::probe;

TEST(Gauge, ReturnsTheLastValue) {
  counter_registry r;
  gauge g(r, {"/app/depth", "1", "Depth"});
  EXPECT_EQ(r.query("/app/depth").value().at(0).value, 0);
  g.set(7);
  g.add(-2.5);
  EXPECT_EQ(r.query("/app/depth").value().at(0).value, 4.5);
  EXPECT_EQ(g.value(), 4.5);
}

TEST(Tally, CountsFromAllThreadsAndIsReset) {
  counter_registry r;
  {
    tally t(r, {"/app/visited", "1", "Nodes"});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&t] {
        for (int k = 0; k < 1000; ++k) t.add(2);
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(r.query("/app/visited", after_reading::reset).value().at(0).value, 8000);
    t.add();
    EXPECT_EQ(r.query("/app/visited").value().at(0).value, 1);
    EXPECT_EQ(t.value(), 8001u);
    EXPECT_TRUE(r.list("/app/visited").at(0).monotonic);
  }
  EXPECT_FALSE(r.query("/app/visited"));
}

}  // namespace
