// The mutexes other than the plain one, events and call_once.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "rt/event.hpp"
#include "rt/mutex.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;
using namespace std::chrono_literals;

TEST(shared_mutex, readers_together_writers_alone) {
  on_every_schedule([] {
    plx::shared_mutex m;
    int value = 0;
    std::atomic<int> inside_read{0}, inside_write{0};
    plx::task_group g;
    for (int t = 0; t < 6; ++t)
      g.run([&, t] {
        for (int i = 0; i < 6; ++i) {
          if ((t + i) % 3 == 0) {
            std::lock_guard lock(m);
            EXPECT_EQ(inside_write.fetch_add(1), 0);
            EXPECT_EQ(inside_read.load(), 0);
            ++value;
            plx::this_thread::yield();
            inside_write.fetch_sub(1);
          } else {
            plx::shared_lock lock(m);
            inside_read.fetch_add(1);
            EXPECT_EQ(inside_write.load(), 0);
            plx::this_thread::yield();
            inside_read.fetch_sub(1);
          }
        }
      });
    g.wait();
    EXPECT_EQ(value, 12);
  });
}

TEST(shared_mutex, readers_do_not_exclude_each_other) {
  on_every_schedule([] {
    plx::shared_mutex m;
    plx::shared_lock mine(m);
    EXPECT_TRUE(plx::async([&m] {
                  plx::shared_lock also(m);
                  return true;
                }).get());
    EXPECT_FALSE(plx::async([&m] { return m.try_lock(); }).get());
    EXPECT_TRUE(plx::async([&m] {
                  const bool got = m.try_lock_shared();
                  if (got) m.unlock_shared();
                  return got;
                }).get());
  });
}

TEST(shared_mutex, a_writer_that_gives_up_lets_the_readers_behind_it_in) {
  on_every_schedule([] {
    plx::shared_timed_mutex m;
    m.lock_shared();
    auto writer = plx::async([&m] { return m.try_lock_for(50us); });
    auto reader = plx::async([&m] {
      plx::this_thread::sleep_for(10us);  // behind the writer
      m.lock_shared();
      m.unlock_shared();
    });
    reader.get();
    EXPECT_FALSE(writer.get());
    m.unlock_shared();
    EXPECT_TRUE(m.try_lock_for(1h));
    EXPECT_FALSE(plx::async([&m] { return m.try_lock_shared_for(1us); }).get());
    m.unlock();
  });
}

template <class Mutex>
void exclude() {
  on_every_schedule([] {
    Mutex m;
    int inside = 0, total = 0;
    plx::task_group g;
    for (int t = 0; t < 5; ++t)
      g.run([&] {
        for (int i = 0; i < 8; ++i) {
          std::lock_guard lock(m);
          EXPECT_EQ(++inside, 1);
          if (i % 3 == 0) plx::this_thread::yield();
          ++total;
          --inside;
        }
      });
    g.wait();
    EXPECT_EQ(total, 40);
  });
}

TEST(timed_mutex, excludes) { exclude<plx::timed_mutex>(); }
TEST(recursive_mutex, excludes) { exclude<plx::recursive_mutex>(); }
TEST(recursive_timed_mutex, excludes) { exclude<plx::recursive_timed_mutex>(); }

TEST(recursive_mutex, its_owner_may_lock_it_again) {
  on_every_schedule([] {
    plx::recursive_mutex m;
    m.lock();
    plx::this_thread::yield();
    EXPECT_TRUE(m.try_lock());
    m.lock();
    m.unlock(), m.unlock();
    plx::thread([&m] { EXPECT_FALSE(m.try_lock()); }).join();
    m.unlock();
    plx::thread([&m] {
      EXPECT_TRUE(m.try_lock());
      m.unlock();
    }).join();
  });
}

TEST(timed_mutex, gives_up_at_the_deadline) {
  on_every_schedule([] {
    plx::timed_mutex m;
    m.lock();
    plx::thread([&m] {
      EXPECT_FALSE(m.try_lock_for(5us));
      EXPECT_FALSE(m.try_lock_until(std::chrono::steady_clock::now()));
    }).join();
    plx::thread later([&m] {
      EXPECT_TRUE(m.try_lock_for(1h));
      m.unlock();
    });
    plx::this_thread::yield();
    m.unlock();
    later.join();
  });
}

TEST(event, all_waiting_tasks_continue) {
  on_every_schedule([] {
    plx::event e;
    std::atomic<int> passed{0};
    plx::task_group g;
    for (int i = 0; i < 5; ++i)
      g.run([&] {
        e.wait();
        passed.fetch_add(1);
      });
    plx::this_thread::yield();
    EXPECT_EQ(passed.load(), 0);
    e.set();
    g.wait();
    EXPECT_TRUE(e.occurred());
    e.reset();
    EXPECT_FALSE(e.occurred());
  });
}

TEST(call_once, calls_once_and_all_see_it_done) {
  on_every_schedule([] {
    plx::once_flag flag;
    int calls = 0;
    plx::task_group g;
    for (int i = 0; i < 6; ++i)
      g.run([&] {
        plx::call_once(
            flag,
            [&](int n) {
              plx::this_thread::yield();
              calls += n;
            },
            1);
        EXPECT_EQ(calls, 1);
      });
    g.wait();
  });
}

TEST(call_once, a_call_that_throws_leaves_it_to_the_next) {
  on_every_schedule([] {
    plx::once_flag flag;
    std::atomic<int> attempts{0}, thrown{0};
    plx::task_group g;
    for (int i = 0; i < 4; ++i)
      g.run([&] {
        try {
          plx::call_once(flag, [&] {
            plx::this_thread::yield();
            if (attempts.fetch_add(1) < 2) throw std::runtime_error("planned");
          });
        } catch (const std::runtime_error&) {
          thrown.fetch_add(1);
        }
      });
    g.wait();
    EXPECT_EQ(attempts.load(), 3);
    EXPECT_EQ(thrown.load(), 2);
  });
}

TEST(mutexes_death, misuse_is_named) {
  plx::shared_mutex m;
  EXPECT_DEATH(m.unlock(), "not locked");
  EXPECT_DEATH(m.unlock_shared(), "not locked");
  plx::timed_mutex t;
  EXPECT_DEATH(t.unlock(), "does not hold it");
}

}  // namespace
