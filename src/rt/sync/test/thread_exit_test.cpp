// Results and notifications at the end of a task: which end counts, for each way to run a task.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "rt/coroutine.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/packaged_task.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;
using namespace std::chrono_literals;

template <class T>
bool ready(const plx::future<T>& f) {
  return f.wait_for(0s) == plx::future_status::ready;
}

TEST(thread_exit, a_result_is_there_before_that_of_its_task) {
  on_every_schedule([] {
    plx::promise<int> p, q, r;
    auto f = p.get_future(), g = q.get_future(), h = r.get_future();
    plx::thread t([&] {
      p.set_value_at_thread_exit(1);
      plx::this_thread::yield();  // the task may resume on another worker
      EXPECT_FALSE(ready(f));
    });
    t.join();
    EXPECT_TRUE(ready(f));
    plx::async([&] {
      q.set_value_at_thread_exit(2);
      EXPECT_FALSE(ready(g));
    })
        .then([&](plx::future<void>) {
          EXPECT_TRUE(ready(g));
          r.set_value_at_thread_exit(3);
        })
        .get();
    EXPECT_EQ(h.get(), 3);
    EXPECT_EQ(f.get() + g.get(), 3);
  });
}

// A call that runs in its waiter's frame ends before the waiter does.
TEST(thread_exit, each_task_has_its_own_end) {
  on_every_schedule([] {
    plx::promise<int> of_outer, of_inner, of_child;
    auto outer = of_outer.get_future(), inner = of_inner.get_future(), child = of_child.get_future();
    plx::async([&] {
      of_outer.set_value_at_thread_exit(1);
      plx::async([&] { of_inner.set_value_at_thread_exit(2); }).get();
      EXPECT_EQ(inner.get(), 2);
      plx::task_group g;
      g.run([&] { of_child.set_value_at_thread_exit(3); });
      g.wait();
      EXPECT_EQ(child.get(), 3);
      EXPECT_FALSE(ready(outer));
    }).get();
    EXPECT_TRUE(ready(outer));
    plx::promise<int> of_posted;
    auto posted = of_posted.get_future();
    plx::post([&] { of_posted.set_value_at_thread_exit(4); });
    EXPECT_EQ(posted.get(), 4);
  });
}

TEST(thread_exit, a_thread_outside_the_runtime_has_an_end) {
  plx::runtime rt({.workers = 1, .bind = false});
  plx::promise<int> p;
  auto f = p.get_future();
  std::thread outside([&] {
    p.set_value_at_thread_exit(5);
    EXPECT_FALSE(ready(f));
  });
  outside.join();
  EXPECT_TRUE(ready(f));
  EXPECT_EQ(f.get(), 5);
}

TEST(thread_exit, a_waiter_is_notified_after_the_mutex_is_free) {
  on_every_schedule([] {
    plx::mutex m;
    plx::condition_variable c;
    bool ended = false;
    plx::thread t([&] {
      std::unique_lock lock(m);
      ended = true;
      plx::notify_all_at_thread_exit(c, std::move(lock));
      EXPECT_FALSE(m.try_lock());
    });
    std::unique_lock lock(m);
    c.wait(lock, [&] { return ended; });
    lock.unlock();
    t.join();
  });
}

TEST(thread_exit, a_coroutine_ends_or_is_suspended) {
  on_every_schedule([] {
    plx::promise<int> p;
    auto f = p.get_future();
    auto done = plx::spawn([](plx::promise<int>& to) -> plx::task<> {
      to.set_value_at_thread_exit(6);
      co_await plx::this_task::yield();
    }(p));
    EXPECT_EQ(f.get(), 6);
    done.get();
  });
}

}  // namespace
