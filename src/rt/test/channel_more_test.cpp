// Channels: variants, waits with a deadline, range-based for loops.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <vector>

#include "rt/channel.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;
using namespace std::chrono_literals;

TEST(channel, timed_forms_give_up_and_continue) {
  on_every_schedule([] {
    plx::channel<int> c(plx::channel<int>::one_element);
    EXPECT_EQ(c.capacity(), 1u);
    EXPECT_EQ(c.try_receive_for(5us), std::nullopt);
    EXPECT_TRUE(c.try_send_for(1, 5us));
    EXPECT_FALSE(c.try_send_for(2, 5us));
    EXPECT_FALSE(c.try_send_until(2, std::chrono::steady_clock::now()));
    auto sending = plx::async([&c] { return c.try_send_for(3, 1h); });
    EXPECT_EQ(c.receive(), 1);
    EXPECT_EQ(c.try_receive_for(1h), 3);
    EXPECT_TRUE(sending.get());
    auto receiving = plx::async([&c] { return c.try_receive_until(std::chrono::steady_clock::now() + 1h); });
    c.close();
    EXPECT_EQ(receiving.get(), std::nullopt);
    EXPECT_FALSE(c.try_send_for(4, 1h));
  });
}

TEST(channel, a_value_that_could_not_be_sent_is_untouched) {
  on_every_schedule([] {
    plx::channel<std::unique_ptr<int>> c(1);
    c.send(std::make_unique<int>(1));
    auto second = std::make_unique<int>(2);
    EXPECT_FALSE(c.try_send_for(std::move(second), 5us));
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(*second, 2);
  });
}

TEST(channel, loops_share_the_elements) {
  for (const std::size_t capacity : {plx::channel<int>::one_element, std::size_t{3}, plx::channel<int>::unbounded})
    on_every_schedule([capacity] {
      plx::channel<int> c(capacity);
      std::vector<plx::future<std::vector<int>>> readers;
      for (int r = 0; r < 3; ++r)
        readers.push_back(plx::async([&c] {
          std::vector<int> mine;
          for (int& x : c) mine.push_back(x);
          return mine;
        }));
      for (int i = 0; i < 30; ++i) c.send(i);
      c.close();
      std::vector<int> all;
      for (auto& r : readers) {
        const auto some = r.get();
        EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
        all.insert(all.end(), some.begin(), some.end());
      }
      std::sort(all.begin(), all.end());
      std::vector<int> expected(30);
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all, expected);
    });
}

}  // namespace
