#include "rt/patterns/sliding_semaphore.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <vector>

#include "rt/event.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;
using namespace std::chrono_literals;

TEST(sliding_semaphore, the_maker_stays_in_the_window) {
  on_every_schedule([] {
    constexpr int steps = 40, width = 5;
    plx::sliding_semaphore window(width);
    std::atomic<int> done{0};
    std::vector<plx::future<void>> all;
    for (int t = 1; t <= steps; ++t) {
      window.wait(t);
      EXPECT_LE(t - done.load(), width);
      // Step t is signalled by the chain of all steps before it, so `done` is at least the signalled number.
      auto before = all.empty() ? plx::make_ready_future() : std::move(all.back());
      all.push_back(before.then([&, t](auto) {
        plx::this_thread::yield();
        done.store(t);
        window.signal(t);
      }));
    }
    all.back().get();
    EXPECT_EQ(done.load(), steps);
  });
}

TEST(sliding_semaphore, opens_at_the_difference_and_not_before) {
  on_every_schedule([] {
    plx::sliding_semaphore s(2, 10);
    EXPECT_TRUE(s.try_wait(12));
    EXPECT_FALSE(s.try_wait(13));
    EXPECT_FALSE(s.wait_for(13, 5us));
    EXPECT_TRUE(s.wait_for(12, 5us));
    EXPECT_TRUE(s.wait_for(-100, 5us));
    s.signal(11);
    s.signal(3);  // late, has no effect
    EXPECT_TRUE(s.try_wait(13));
    EXPECT_FALSE(s.try_wait(14));
    auto waiting = plx::async([&s] { return s.wait_for(14, 1h); });
    s.signal(12);
    EXPECT_TRUE(waiting.get());
    auto wider = plx::async([&s] { s.wait(100); });
    s.set_max_difference(88);
    wider.get();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    EXPECT_FALSE(plx::sliding_semaphore(5, -most).try_wait(most));
    EXPECT_TRUE(plx::sliding_semaphore(5, most).try_wait(-most));
  });
}

TEST(sliding_semaphore, signal_all_lets_all_waiting_tasks_pass) {
  on_every_schedule([] {
    plx::sliding_semaphore s(1);
    std::atomic<int> passed{0};
    std::vector<plx::future<void>> waiting;
    for (int i = 0; i < 3; ++i)
      waiting.push_back(plx::async([&] {
        s.wait(1000);
        passed.fetch_add(1);
      }));
    while (passed.load() < 3) {
      EXPECT_EQ(s.signal_all(), 0);
      plx::this_thread::yield();
    }
    for (auto& w : waiting) w.get();
    EXPECT_FALSE(s.try_wait(1000)) << "later callers wait";
  });
}

TEST(event, with_a_deadline) {
  on_every_schedule([] {
    plx::event e;
    EXPECT_FALSE(e.wait_for(5us));
    auto setting = plx::async([&e] { e.set(); });
    EXPECT_TRUE(e.wait_for(1h));
    setting.get();
    EXPECT_TRUE(e.wait_until(std::chrono::steady_clock::now()));
  });
}

TEST(call_once, calls_members) {
  on_every_schedule([] {
    struct counter {
      int n = 0;
      void add(int k) { n += k; }
    } c;
    plx::once_flag once;
    plx::call_once(once, &counter::add, c, 3);
    plx::call_once(once, &counter::add, &c, 3);
    EXPECT_EQ(c.n, 3);
  });
}

TEST(semaphore_death, more_than_the_largest_count) { EXPECT_DEATH(plx::binary_semaphore(1).release(), "max"); }

TEST(sliding_semaphore_death, a_negative_width) { EXPECT_DEATH(plx::sliding_semaphore(-1), "max_difference"); }

// A mutex that exists before main() and before any runtime.
constinit plx::mutex global;
static_assert(noexcept(plx::latch::max()) && plx::barrier<>::max() > 0);

TEST(mutex, can_be_initialised_by_constants) { std::lock_guard lock(global); }

}  // namespace
