#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/symbols.hpp"
#include "base/test/timeout_test.hpp"
#include "probe/record/names.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/event.hpp"
#include "rt/explain/explain.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace std::chrono_literals;
using plx::probe::register_name;

// Waits until `text` appears in the report, then returns the report.
std::string explanation_with(plx::runtime& rt, const std::string& text) {
  std::string all;
  (void)plx::comes_true([&] {
    all = rt.explain_waits();
    return all.find(text) != all.npos;
  });
  return all;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

[[gnu::noinline]] void wait_here_planted(plx::latch& l) {
  l.wait();
  asm volatile("");
}

TEST(explain, a_waiting_task_with_its_place) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::latch go(1);
  rt.post([&go] { plx::async({register_name("planted wait"), 17}, [&go] { wait_here_planted(go); }).get(); });
  const std::string text = explanation_with(rt, "wait_here_planted");
  EXPECT_TRUE(contains(text, "task \"planted wait\" (key 17) waits on latch 0x")) << text;
  EXPECT_TRUE(contains(text, "wait_here_planted(plx::latch&)")) << text;
  const void* here[] = {reinterpret_cast<const void*>(&wait_here_planted)};
  if (plx::locate(here)[0].back().line != 0) {
    EXPECT_TRUE(contains(text, "explain_test.cpp:")) << text;
  }
  go.count_down();
}

TEST(explain, many_at_one_place_are_one_line) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::latch go(1);
  for (int i = 0; i < 512; ++i) plx::post({register_name("one of many")}, [&go] { go.wait(); });
  const std::string text = explanation_with(rt, "x 512");
  EXPECT_TRUE(contains(text, "x 512")) << text;
  EXPECT_EQ(text.find("one of many"), text.rfind("one of many")) << text;
  go.count_down();
}

TEST(explain, the_text_is_limited) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::latch go(1);
  for (int i = 0; i < 100; ++i) plx::post({register_name("task number " + std::to_string(i))}, [&go] { go.wait(); });
  const std::string text = explanation_with(rt, "and 60 more tasks at 60 other places");
  EXPECT_TRUE(contains(text, "and 60 more tasks at 60 other places")) << text;
  go.count_down();
}

// Reports while thousands of waits begin and end must not read freed memory. Mostly the sanitizers would detect it.
TEST(explain, while_tasks_run) {
  plx::runtime rt({.workers = 4, .bind = false});
  auto* inside = rt.run([] { return &plx::detail::current_scheduler(); });
  std::atomic<int> asked{0};
  std::thread asking([&] {
    for (; asked < 200; ++asked)
      if (asked % 32 == 0)
        (void)rt.explain_waits();
      else
        (void)plx::detail::look_at_waits(*inside);
  });
  rt.run([&asked] {
    while (asked < 200) {
      plx::mutex m;
      plx::task_group g;
      for (int i = 0; i < 50; ++i)
        g.run([&m] {
          const std::lock_guard lock(m);
          plx::this_thread::yield();
        });
      for (int i = 0; i < 20; ++i) plx::async([] { return plx::async([] { plx::this_thread::yield(); }).get(); }).get();
      g.wait();
    }
  });
  asking.join();
}

// ---------------------------------------------------------------------------------------------------------- deadlocks

struct two_locks {
  plx::mutex a, b;
  plx::latch both{2};
};

TEST(explain, two_mutexes_in_opposite_order_are_a_deadlock) {
  auto* l = new two_locks;  // abandoned with the waiting tasks
  {
    plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.01});
    plx::post({register_name("left hand"), 1}, [l] {
      l->a.lock();
      l->both.arrive_and_wait();
      l->b.lock();
    });
    plx::post({register_name("right hand"), 2}, [l] {
      l->b.lock();
      l->both.arrive_and_wait();
      l->a.lock();
    });
    const std::string text = explanation_with(rt, "DEADLOCK");
    EXPECT_TRUE(contains(text, "DEADLOCK: 2 tasks wait for each other")) << text;
    EXPECT_TRUE(contains(text, "which is held by task \"left hand\" (key 1)")) << text;
    EXPECT_TRUE(contains(text, "which is held by task \"right hand\" (key 2)")) << text;
  }
}

TEST(explain, deadlocks_end_the_deterministic_mode_with_their_chain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    plx::runtime rt({.workers = 2, .deterministic = true, .seed = seed, .shutdown_deadline_s = 0});
    auto* l = new two_locks;
    try {
      rt.run([l] {
        auto one = plx::async([l] {
          l->a.lock();
          l->both.arrive_and_wait();
          l->b.lock();
        });
        l->b.lock();
        l->both.arrive_and_wait();
        l->a.lock();
        one.get();
      });
      FAIL() << "no deadlock";
    } catch (const plx::deadlock_error& e) {
      EXPECT_TRUE(contains(e.what(), "DEADLOCK: 2 tasks")) << e.what();
    }
  }
}

// A task that waits for a future whose task waits for a lock that the first one holds; and each kind of lock.
template <class Lock>
void held_while_waiting_for_its_taker() {
  struct shared {
    Lock lock;
    plx::promise<void> never;
  };
  auto* s = new shared;
  {
    plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.01});
    rt.post([s] {
      plx::post({register_name("holder")}, [s] {
        s->lock.lock();
        plx::async({register_name("taker")}, [s] { s->lock.lock(); }).get();
      });
    });
    const std::string text = explanation_with(rt, "DEADLOCK");
    // If run inline, the taker runs in the holder's frame and both count as one task.
    EXPECT_TRUE(contains(text, "DEADLOCK")) << text;
    EXPECT_TRUE(contains(text, "task \"taker\" waits on")) << text;
  }
}

TEST(explain, deadlocks_over_futures_and_every_lock) {
  held_while_waiting_for_its_taker<plx::mutex>();
  held_while_waiting_for_its_taker<plx::timed_mutex>();
  held_while_waiting_for_its_taker<plx::shared_mutex>();
}

TEST(explain, a_wait_with_a_deadline_is_no_deadlock) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::timed_mutex a, b;
  plx::latch both(2);
  std::atomic<bool> seen{false};
  rt.post([&] {
    const std::lock_guard lock(a);
    both.arrive_and_wait();
    while (!seen) EXPECT_FALSE(b.try_lock_for(20ms));
  });
  rt.post([&] {
    const std::lock_guard lock(b);
    both.arrive_and_wait();
    const std::lock_guard other(a);
  });
  const std::string text = explanation_with(rt, "with a deadline for");
  seen = true;
  EXPECT_TRUE(contains(text, "with a deadline for")) << text;
  EXPECT_FALSE(contains(text, "DEADLOCK")) << text;
}

}  // namespace
