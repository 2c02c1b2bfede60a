#include "parquet/references/references.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

TEST(References, FastOnesHold) {
  runtime rt({.workers = 2, .bind = false});
  int compared = 0;
  for (const reference& r : all_references()) {
    if (r.slow) continue;
    SCOPED_TRACE(std::string(r.model) + ", " + r.by);
    const auto all = rt.run([&] { return r.compare(nullptr); });
    ASSERT_TRUE(all) << all.error().message;
    for (const comparison& j : *all) EXPECT_TRUE(j.holds()) << j.quantity << ": " << j.value << ", " << j.expected;
    compared += static_cast<int>(all->size());
  }
  EXPECT_GT(compared, 25);
}

TEST(References, ADifferenceBeyondTheAllowedIsNoticed) {
  EXPECT_TRUE((comparison{"", 1.1, 1, 0, 0.2}.holds()));
  EXPECT_FALSE((comparison{"", 1.3, 1, 0, 0.2}.holds()));
  EXPECT_FALSE((comparison{"", 0.7, 1, 0, 0.2}.holds()));
  EXPECT_FALSE((comparison{"", NAN, 1, 0, 0.2}.holds()));
}

TEST(References, TheWorstIsTheLargestOrNan) {
  const comparison good{"", 1.1, 1, 0, 0.2}, bad{"", 0.5, 1, 0, 0.2}, nan{"", NAN, 1, 0, 0.2};
  const auto value = [](const std::vector<comparison>& some) { return worst_of(some).value; };
  EXPECT_EQ(value({good, bad}), 0.5);
  EXPECT_EQ(value({bad, good}), 0.5);
  EXPECT_TRUE(std::isnan(value({nan, bad})));
  EXPECT_TRUE(std::isnan(value({bad, nan})));
  EXPECT_TRUE(std::isnan(value({good, nan, bad})));
}

TEST(References, StopWhenAsked) {
  runtime rt({.workers = 2, .bind = false});
  std::atomic<bool> stop = true;
  for (const reference& r : all_references()) {
    const auto all = rt.run([&] { return r.compare(&stop); });
    ASSERT_FALSE(all) << r.model;
    EXPECT_EQ(all.error().message, "stopped");
  }
}

}  // namespace
}  // namespace plx::parquet
