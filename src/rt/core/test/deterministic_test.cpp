// The deterministic mode itself: the same seed gives the same schedule, another seed another one, a deadlock is
// reported, and a defect planted on purpose is found by some seed.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "rt/core/scheduler.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

std::string schedule_of(std::uint64_t seed) {
  plx::runtime rt({.workers = 3, .deterministic = true, .seed = seed});
  std::string order;
  rt.run([&order] {
    plx::task_group g;
    for (char c = 'a'; c < 'k'; ++c)
      g.run([&order, c] {
        order += c;
        plx::this_thread::yield();
        order += static_cast<char>(c - 'a' + 'A');
      });
    g.wait();
  });
  return order;
}

TEST(deterministic, the_seed_is_the_schedule) {
  std::string first = schedule_of(1);
  int different = 0;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const std::string once = schedule_of(seed);
    EXPECT_EQ(once, schedule_of(seed)) << "seed " << seed;
    EXPECT_EQ(once.size(), 20u);
    different += once != first;
  }
  EXPECT_GT(different, 10);
}

TEST(deterministic, a_deadlock_is_reported_with_its_seed) {
  plx::runtime rt({.workers = 2, .deterministic = true, .seed = 77, .shutdown_deadline_s = 0});
  auto* a = new plx::mutex;  // abandoned together with the tasks that hold them
  auto* b = new plx::mutex;
  try {
    rt.run([a, b] {
      auto other = plx::async([a, b] {
        b->lock();
        plx::this_thread::sleep_for(std::chrono::milliseconds(1));
        a->lock();
      });
      a->lock();
      plx::this_thread::sleep_for(std::chrono::milliseconds(1));
      b->lock();
      other.get();
    });
    FAIL() << "no deadlock was seen";
  } catch (const plx::deadlock_error& e) {
    EXPECT_NE(std::string(e.what()).find("seed 77"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("waits on mutex"), std::string::npos) << e.what();
  }
}

// Tasks abandoned by a deadlocked run() may resume long after run() has returned.
TEST(deterministic, tasks_left_by_a_deadlock_can_continue) {
  plx::runtime rt({.workers = 2, .deterministic = true});
  plx::promise<void> p;
  auto f = p.get_future();
  EXPECT_THROW(rt.run([&f] { f.get(); }), plx::deadlock_error);
  p.set_value();
  rt.run([] { plx::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  EXPECT_EQ(rt.explain_waits(), "");
}

// An event with a lost wake-up: it checks the state, and only then starts to wait.
class defective_event {
 public:
  void set() {
    set_ = true;
    plx::detail::waiter* w = nullptr;
    {
      plx::detail::spin_guard guard(guard_);
      w = waiters_.take_all();
    }
    plx::detail::notify_all(w);
  }
  void wait() {
    if (set_) return;
    plx::detail::choice_point();  // the gap: set() may run here and find no waiter
    guard_.lock();
    plx::detail::wait_on(waiters_, guard_, "defective event");
  }

 private:
  bool set_ = false;
  plx::detail::spinlock guard_;
  plx::detail::wait_list waiters_;
};

TEST(deterministic, a_planted_lost_wake_up_is_found) {
  unsigned found = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    plx::runtime rt({.workers = 3, .deterministic = true, .seed = seed, .shutdown_deadline_s = 0});
    auto* event = new defective_event;  // outlives abandoned waiters
    try {
      rt.run([event] {
        auto waiting = plx::async([event] { event->wait(); });
        plx::this_thread::yield();
        event->set();
        waiting.get();
      });
      delete event;
    } catch (const plx::deadlock_error&) {
      ++found;
    }
  }
  RecordProperty("seeds_that_found_it", static_cast<int>(found));
  EXPECT_GT(found, 0u) << "200 seeds did not find a lost wake-up";
}

}  // namespace
