#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "gpu/aggregating_executor.hpp"
#include "gpu/buffer.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/testing/operations.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu {
namespace {

double value(plx::runtime& rt, const std::string& name) {
  const auto h = rt.counters().find("/gpu{locality#0/device#0}/" + name);
  EXPECT_TRUE(h) << name;
  return h ? h->value() : -1;
}

TEST(gpu_counters, remain_readable_after_the_device_is_destroyed) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 1, .bind = false});
  auto d = std::make_unique<device>(rt, b.get());
  rt.run([&] {
    stream s(*d);
    buffer<std::uint64_t> word(s, 1);
    for (int i = 0; i < 5; ++i) buffer<char> again(s, 1000);
    s.fill(word.data(), 0, 8);
    for (int i = 0; i < 3; ++i) s.launch(testing::empty, testing::empty_item{});
    buffer<std::uint64_t> host(s, 1, memory_kind::pinned);
    s.copy(host.data(), word.data(), 8);
    const graph g = s.capture([&] {
      s.launch(testing::empty, testing::empty_item{});
      s.fill(word.data(), 1, 4);
      s.copy(host.data(), word.data(), 2);
      s.copy(host.data(), word.data(), 3);
    });
    EXPECT_EQ(value(rt, "count/copies"), 1);  // operations in the graph count when it runs
    EXPECT_EQ(value(rt, "count/fills"), 1);
    s.launch(g);
    s.launch(g);
    s.wait();
    const aggregating_executor on(*d, {.most = 10, .deadline_s = 3600});
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 40; ++i) all.push_back(plx::async(on, testing::empty, testing::empty_item{}));
    for (auto& f : all) f.get();
  });
  for (const bool gone : {false, true}) {
    if (gone) d.reset();
    EXPECT_EQ(value(rt, "count/launches"), 3 + 2 + 4);
    EXPECT_EQ(value(rt, "count/items"), 3 + 2 + 40);
    EXPECT_EQ(value(rt, "count/aggregated-launches"), 4);
    EXPECT_EQ(value(rt, "count/average-items-per-aggregated-launch"), 10);
    EXPECT_EQ(value(rt, "count/graph-launches"), 2);
    EXPECT_EQ(value(rt, "count/copies"), 1 + 2 * 2);
    EXPECT_EQ(value(rt, "count/fills"), 1 + 2);
    EXPECT_EQ(value(rt, "data/copied"), 8 + 2 * 5);
    EXPECT_EQ(value(rt, "buffers/misses"), 2);
    EXPECT_EQ(value(rt, "buffers/hits"), 4);
    EXPECT_EQ(value(rt, "pinned-buffers/misses"), 1);
    EXPECT_EQ(value(rt, "buffers/used"), 0);
    EXPECT_EQ(value(rt, "count/completions"), 1 + 4);
    EXPECT_GE(value(rt, "count/polls"), 1);
    EXPECT_GE(value(rt, "count/questions"), 5);
    EXPECT_GT(value(rt, "time/launching"), 0);
    EXPECT_GT(value(rt, "time/polling"), 0);
  }
  device second(rt, b.get());  // its counters have distinct names
  EXPECT_TRUE(rt.counters().find("/gpu{locality#0/device#1}/count/launches"));
}

}  // namespace
}  // namespace plx::gpu
