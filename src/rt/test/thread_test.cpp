#include "rt/thread.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using plx::testing::on_every_schedule;
using plx::testing::with_every_runtime;
using namespace std::chrono_literals;

TEST(thread, runs_and_joins) {
  on_every_schedule([] {
    int x = 0;
    plx::thread t([&x](int n) { x = n; }, 5);
    EXPECT_TRUE(t.joinable());
    t.join();
    EXPECT_FALSE(t.joinable());
    EXPECT_EQ(x, 5);
    EXPECT_THROW(t.join(), std::system_error);
    EXPECT_GE(plx::thread::hardware_concurrency(), 1u);
  });
}

TEST(thread, ids_are_distinct_and_stay) {
  on_every_schedule([] {
    const auto mine = plx::this_thread::get_id();
    std::set<const void*> seen{mine.value()};
    std::vector<plx::thread> all;
    plx::mutex m;
    for (int i = 0; i < 8; ++i)
      all.emplace_back([&] {
        const auto before = plx::this_thread::get_id();
        plx::this_thread::yield();
        EXPECT_EQ(before, plx::this_thread::get_id());
        std::lock_guard lock(m);
        EXPECT_TRUE(seen.insert(before.value()).second);
        plx::this_thread::yield();
      });
    std::vector<plx::thread::id> ids;
    for (auto& t : all) ids.push_back(t.get_id());
    for (auto& t : all) t.join();
    for (auto id : ids) EXPECT_TRUE(seen.contains(id.value()));
    EXPECT_EQ(mine, plx::this_thread::get_id());
    EXPECT_EQ(plx::thread().get_id(), plx::thread::id());
  });
}

// Two tasks that keep waking each other on the only worker must not starve a third one.
TEST(thread, no_task_starves) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    constexpr int most = 100000;
    bool ran = false;
    int rounds = 0;
    plx::binary_semaphore ping(0), pong(0);
    plx::thread third([&ran] { ran = true; });
    plx::thread partner([&] {
      for (int i = 0; i < most; ++i) {
        ping.acquire();
        pong.release();
        if (ran) break;
      }
    });
    while (!ran && rounds++ < most) {
      ping.release();
      pong.acquire();
    }
    ping.release();
    EXPECT_LT(rounds, most);
    partner.join();
    third.join();
  });
}

TEST(thread, detach) {
  std::atomic<int> ran{0};
  with_every_runtime([&ran](plx::runtime& rt) {
    ran = 0;
    rt.run([&ran] {
      plx::thread([&ran] { ran = 1; }).detach();
      while (ran.load() == 0) plx::this_thread::yield();
    });
  });
}

TEST(this_thread, sleepers_wake_in_order_of_their_deadlines) {
  with_every_runtime([](plx::runtime& rt) {
    if (!rt.options().deterministic) return;  // real time guarantees no order
    rt.run([] {
      std::vector<int> order;
      std::vector<plx::thread> all;
      for (int i : {3, 1, 2})
        all.emplace_back([&order, i] {
          plx::this_thread::sleep_for(std::chrono::milliseconds(i));
          order.push_back(i);
        });
      for (auto& t : all) t.join();
      EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
    });
  });
}

TEST(this_thread, sleep_lasts_at_least_as_long_as_asked) {
  plx::runtime rt({.workers = 2, .bind = false});
  rt.run([] {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<plx::thread> all;
    for (int i = 0; i < 200; ++i) all.emplace_back([] { plx::this_thread::sleep_for(3ms); });
    for (auto& t : all) t.join();
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
  });
}

TEST(this_thread, on_an_external_thread) {
  plx::runtime rt({.workers = 1, .bind = false});
  plx::this_thread::yield();
  plx::this_thread::sleep_for(1ms);
  EXPECT_NE(plx::this_thread::get_id(), plx::thread::id());
  plx::thread::id other;
  std::thread([&other] { other = plx::this_thread::get_id(); }).join();
  EXPECT_NE(plx::this_thread::get_id(), other);
}

TEST(thread_death, a_joinable_thread_must_not_be_dropped) {
  EXPECT_DEATH(
      {
        plx::runtime rt({.workers = 1, .bind = false});
        plx::thread t([] {});
      },
      "terminate");
}

TEST(this_thread, sleeps_do_not_end_early) {
  plx::runtime rt({.workers = 2, .bind = false});
  const auto sleeps = [] {
    for (int i = 1; i <= 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      plx::this_thread::sleep_for(std::chrono::microseconds(300 * i));
      EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(300 * i));
      const auto until = std::chrono::system_clock::now() + std::chrono::microseconds(300 * i);
      plx::this_thread::sleep_until(until);
      EXPECT_GE(std::chrono::system_clock::now(), until);
    }
    plx::this_thread::sleep_until(std::chrono::steady_clock::now() - std::chrono::seconds(1));
    plx::this_thread::sleep_for(std::chrono::seconds(-1));
  };
  rt.run(sleeps);
  sleeps();  // on a thread that is not a worker
}

}  // namespace
