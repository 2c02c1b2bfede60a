#include "rt/channel.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;

TEST(channel, everything_sent_arrives_once_and_in_order_per_sender) {
  on_every_schedule([] {
    constexpr int senders = 3, each = 20;
    plx::channel<std::pair<int, int>> c(2);
    std::vector<int> next(senders, 0);
    plx::task_group g;
    for (int s = 0; s < senders; ++s)
      g.run([&c, s] {
        for (int i = 0; i < each; ++i) EXPECT_TRUE(c.send({s, i}));
      });
    for (int n = 0; n < senders * each; ++n) {
      auto [from, number] = *c.receive();
      EXPECT_EQ(number, next[static_cast<std::size_t>(from)]++);
    }
    g.wait();
    EXPECT_EQ(c.size(), 0u);
  });
}

TEST(channel, close_wakes_all_waiting_tasks) {
  on_every_schedule([] {
    plx::channel<int> empty, full(1);
    EXPECT_TRUE(full.send(1));
    std::atomic<int> ended{0};
    plx::task_group g;
    for (int i = 0; i < 3; ++i) {
      g.run([&] { ended += !empty.receive().has_value(); });
      g.run([&] { ended += !full.send(2); });
    }
    plx::this_thread::yield();
    empty.close();
    full.close();
    g.wait();
    EXPECT_EQ(ended.load(), 6);
    EXPECT_EQ(full.receive(), 1);  // elements in the channel can still be received
    EXPECT_EQ(full.receive(), std::nullopt);
    EXPECT_TRUE(full.closed());
  });
}

TEST(channel, try_forms_never_wait_and_elements_may_be_move_only) {
  on_every_schedule([] {
    plx::channel<std::unique_ptr<int>> c(1);
    EXPECT_FALSE(c.try_receive().has_value());
    auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
    EXPECT_TRUE(c.try_send(std::move(first)));
    EXPECT_FALSE(c.try_send(std::move(second)));
    ASSERT_NE(second, nullptr) << "a rejected element stays with the sender";
    EXPECT_EQ(**c.try_receive(), 1);
  });
}

}  // namespace
