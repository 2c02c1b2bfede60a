#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;
using namespace std::chrono_literals;

// Passing a lock that does not hold its mutex violates a requirement; the error leaves the condition variable
// unchanged.
TEST(condition_variable, an_unlocked_lock_throws_and_harms_nothing) {
  on_every_schedule([] {
    plx::mutex m;
    plx::condition_variable c;
    std::unique_lock unlocked(m, std::defer_lock);
    plx::stop_source stops;
    EXPECT_THROW(c.wait(unlocked), std::system_error);
    EXPECT_THROW(c.wait_for(unlocked, std::chrono::seconds(1)), std::system_error);
    EXPECT_THROW(c.wait(unlocked, stops.get_token(), [] { return false; }), std::system_error);
    c.notify_all();
    bool notified = false;
    auto waiting = plx::async([&] {
      std::unique_lock lock(m);
      c.wait(lock, [&notified] { return notified; });
    });
    {
      std::lock_guard lock(m);
      notified = true;
    }
    c.notify_one();
    waiting.get();
  });
}

TEST(mutex, excludes) {
  on_every_schedule([] {
    plx::mutex m;
    int inside = 0, total = 0;
    plx::task_group g;
    for (int t = 0; t < 6; ++t)
      g.run([&] {
        for (int i = 0; i < 20; ++i) {
          std::lock_guard lock(m);
          EXPECT_EQ(++inside, 1);
          if (i % 5 == 0) plx::this_thread::yield();
          ++total;
          --inside;
        }
      });
    g.wait();
    EXPECT_EQ(total, 120);
  });
}

TEST(mutex, try_lock_never_waits) {
  on_every_schedule([] {
    plx::mutex m;
    EXPECT_TRUE(m.try_lock());
    EXPECT_FALSE(plx::async([&m] { return m.try_lock(); }).get());
    m.unlock();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
  });
}

TEST(mutex, tasks_and_external_threads_share_it) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::mutex m;
  int n = 0;
  auto add = [&] {
    for (int i = 0; i < 500; ++i) {
      std::scoped_lock lock(m);
      ++n;
    }
  };
  std::thread outside(add);
  rt.run([&add] {
    plx::task_group g;
    for (int i = 0; i < 4; ++i) g.run(add);
    g.wait();
  });
  outside.join();
  EXPECT_EQ(n, 2500);
}

// The last user of an object destroys it, mutex included, while the previous one may still be inside unlock().
TEST(mutex, may_be_destroyed_by_the_last_user) {
  struct shared {
    plx::mutex m;
    int users = 8;
  };
  on_every_schedule([] {
    for (int round = 0; round < 5; ++round) {
      auto* object = new shared;
      plx::task_group g;
      for (int i = 0; i < 8; ++i)
        g.run([object] {
          object->m.lock();
          const bool last = --object->users == 0;
          object->m.unlock();
          if (last) delete object;
        });
      g.wait();
    }
  });
}

TEST(condition_variable, a_ring_of_tasks_takes_turns) {
  on_every_schedule([] {
    plx::mutex m;
    plx::condition_variable changed;
    int turn = 0;
    plx::task_group g;
    for (int me = 0; me < 4; ++me)
      g.run([&, me] {
        for (int round = 0; round < 5; ++round) {
          std::unique_lock lock(m);
          changed.wait(lock, [&] { return turn % 4 == me; });
          ++turn;
          changed.notify_all();
        }
      });
    g.wait();
    EXPECT_EQ(turn, 20);
  });
}

TEST(condition_variable, with_a_deadline) {
  on_every_schedule([] {
    plx::mutex m;
    plx::condition_variable never;
    std::unique_lock lock(m);
    EXPECT_EQ(never.wait_for(lock, 1us), plx::cv_status::timeout);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(never.wait_for(lock, 20us, [] { return false; }));
    bool set = false;
    auto setter = plx::async([&] {
      std::unique_lock inner(m);
      set = true;
      never.notify_one();
    });
    EXPECT_TRUE(never.wait_for(lock, 1h, [&set] { return set; }));
    lock.unlock();
    setter.get();
  });
}

TEST(condition_variable, notification_and_deadline_race) {
  on_every_schedule([] {
    for (int i = 0; i < 20; ++i) {
      plx::mutex m;
      plx::condition_variable c;
      bool set = false;
      auto setter = plx::async([&] {
        plx::this_thread::sleep_for(10us);
        std::unique_lock lock(m);
        set = true;
        c.notify_one();
      });
      {
        std::unique_lock lock(m);
        c.wait_for(lock, 10us, [&set] { return set; });
      }
      setter.get();
    }
  });
}

TEST(latch, releases_all_at_zero) {
  on_every_schedule([] {
    plx::latch start(3);
    std::atomic<int> passed{0};
    plx::task_group g;
    for (int i = 0; i < 4; ++i)
      g.run([&] {
        start.wait();
        passed.fetch_add(1);
      });
    EXPECT_FALSE(start.try_wait());
    start.count_down(2);
    plx::this_thread::yield();
    EXPECT_EQ(passed.load(), 0);
    start.count_down();
    g.wait();
    EXPECT_EQ(passed.load(), 4);
    EXPECT_TRUE(start.try_wait());
  });
}

TEST(latch, may_be_destroyed_as_soon_as_wait_returns) {
  on_every_schedule([] {
    for (int i = 0; i < 10; ++i) {
      auto done = std::make_unique<plx::latch>(2);
      auto a = plx::async([d = done.get()] { d->count_down(); });
      auto b = plx::async([d = done.get()] { d->count_down(); });
      done->wait();
      done.reset();
      a.get(), b.get();
    }
  });
}

TEST(barrier, phases_do_not_mix) {
  on_every_schedule([] {
    constexpr int tasks = 4, phases = 6;
    std::atomic<int> arrived{0}, completions{0};
    auto on_phase = [&]() noexcept {
      EXPECT_EQ(arrived.exchange(0), tasks);
      completions.fetch_add(1);
    };
    plx::barrier sync(tasks, on_phase);
    plx::task_group g;
    for (int t = 0; t < tasks; ++t)
      g.run([&] {
        for (int p = 0; p < phases; ++p) {
          EXPECT_EQ(completions.load(), p);
          arrived.fetch_add(1);
          sync.arrive_and_wait();
        }
      });
    g.wait();
    EXPECT_EQ(completions.load(), phases);
  });
}

TEST(barrier, arrive_and_drop) {
  on_every_schedule([] {
    plx::barrier<> sync(3);
    plx::task_group g;
    g.run([&] { sync.arrive_and_drop(); });
    for (int t = 0; t < 2; ++t)
      g.run([&] {
        for (int p = 0; p < 3; ++p) sync.arrive_and_wait();
      });
    g.wait();
  });
}

TEST(semaphore, bounds_how_many_are_inside) {
  on_every_schedule([] {
    plx::counting_semaphore<> slots(2);
    std::atomic<int> inside{0};
    plx::task_group g;
    for (int t = 0; t < 8; ++t)
      g.run([&] {
        slots.acquire();
        EXPECT_LE(inside.fetch_add(1) + 1, 2);
        plx::this_thread::yield();
        inside.fetch_sub(1);
        slots.release();
      });
    g.wait();
    EXPECT_TRUE(slots.try_acquire());
    EXPECT_TRUE(slots.try_acquire());
    EXPECT_FALSE(slots.try_acquire());
    EXPECT_FALSE(slots.try_acquire_for(1us));
    auto later = plx::async([&slots] { slots.release(2); });
    EXPECT_TRUE(slots.try_acquire_for(1h));
    later.get();
    EXPECT_TRUE(slots.try_acquire());
  });
}

TEST(semaphore, may_be_destroyed_by_the_task_that_it_let_in) {
  on_every_schedule([] {
    for (int round = 0; round < 5; ++round) {
      auto slots = std::make_unique<plx::counting_semaphore<>>(0);
      auto other = plx::async([s = slots.get()] { s->release(2); });
      slots->acquire();
      slots->acquire();
      slots.reset();
      other.get();
    }
  });
}

TEST(sync_death, misuse_ends_the_program_with_its_values) {
  EXPECT_DEATH(plx::latch(-1), "expected");
  EXPECT_DEATH(plx::latch(1).count_down(2), "before");
}

}  // namespace
