// Defined behaviour when the runtime is misused or at its limits. Other cases are tested with their subjects: second
// get, broken promise (future_test.cpp), joinable threads dropped (thread_test.cpp), no runtime, run() inside a task
// (runtime_test.cpp), deadlocks (explain_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/dataflow.hpp"
#include "rt/event.hpp"
#include "rt/executor.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"

namespace {

using plx::testing::on_every_schedule;

// Tests whose programs end on purpose write no flight files (tests/flight checks those).
[[maybe_unused]] const int no_flight_files = setenv("PLX_FLIGHT", "0", 0);

// An exception of a continuation that is never read is destroyed with the future, without further effects.
TEST(misuse, an_exception_of_a_continuation_that_is_never_read) {
  on_every_schedule([] {
    auto alive = std::make_shared<int>(0);
    std::atomic<int> ran{0};
    {
      plx::promise<int> p;
      plx::shared_future<int> s = p.get_future();
      const auto failing = [&ran, alive](auto f) -> int {
        ran.fetch_add(f.get());
        throw std::runtime_error("never read");
      };
      (void)s.then(failing);
      (void)s.then(plx::launch::sync, failing);
      (void)plx::dataflow(failing, s);
      auto unread = s.then(failing).then([&ran](auto f) {
        ran.fetch_add(1);
        f.get();
      });
      p.set_value(1);
      plx::wait_all(unread);
    }
    while (alive.use_count() > 1) plx::this_thread::yield();
    EXPECT_EQ(ran.load(), 5);
  });
}

TEST(misuse, an_exception_in_a_dropped_future_of_async) {
  on_every_schedule([] {
    std::atomic<bool> ran{false};
    (void)plx::async([&ran] {
      ran = true;
      throw 1;
    });
    while (!ran) plx::this_thread::yield();
    (void)plx::make_exceptional_future<int>(std::make_exception_ptr(1));
  });
}

// Mutexes, conditions and promises work without a runtime: threads wait for each other as with the standard's.
TEST(misuse, synchronization_without_any_runtime) {
  plx::mutex m;
  plx::condition_variable c;
  int turn = 0;
  const auto play = [&](int mine) {
    for (int i = 0; i < 50; ++i) {
      std::unique_lock lock(m);
      c.wait(lock, [&] { return turn % 2 == mine; });
      ++turn;
      c.notify_all();
    }
  };
  std::thread a(play, 0), b(play, 1);
  a.join();
  b.join();
  EXPECT_EQ(turn, 100);
  plx::promise<int> p;
  auto f = p.get_future();
  std::thread setting([&p] { p.set_value(3); });
  EXPECT_EQ(f.get(), 3);
  setting.join();
}

// A thread waits for a mutex that a suspended task holds.
TEST(misuse, an_external_thread_waits_for_a_mutex_of_a_suspended_task) {
  plx::runtime rt({.workers = 1, .bind = false});
  plx::mutex m;
  plx::event locked, go_on;
  auto holding = plx::async([&] {
    std::lock_guard lock(m);
    locked.set();
    go_on.wait();
  });
  locked.wait();
  EXPECT_FALSE(m.try_lock());
  std::thread opening([&] { go_on.set(); });
  m.lock();
  m.unlock();
  opening.join();
  holding.get();
}

TEST(misuse, zero_workers_are_the_default_number) {
  plx::runtime rt({.workers = 0});
  EXPECT_GE(rt.worker_count(), 1u);
  EXPECT_EQ(rt.options().workers, rt.worker_count());
  EXPECT_EQ(rt.run([] { return 1; }), 1);
}

TEST(misuse, far_more_workers_than_cores) {
  plx::runtime rt({.workers = 4 * std::max(1u, std::thread::hardware_concurrency()) + 1});
  const auto n = static_cast<std::ptrdiff_t>(rt.worker_count());
  rt.run([n] {
    plx::barrier<> together(n);
    std::vector<plx::future<void>> all;
    for (std::ptrdiff_t i = 0; i < n; ++i)
      all.push_back(plx::async([&together] {
        for (int p = 0; p < 5; ++p) together.arrive_and_wait();
      }));
    plx::wait_all(all);
  });
}

// A plain mutex is not recursive: its owner would wait for itself, which is reported as a deadlock.
TEST(misuse, a_mutex_locked_again_by_its_owner) {
  plx::runtime rt({.workers = 2, .deterministic = true, .shutdown_deadline_s = 0});
  auto* m = new plx::mutex;  // abandoned with its waiter
  try {
    rt.run([m] {
      m->lock();
      m->lock();
    });
    FAIL() << "locked twice";
  } catch (const plx::deadlock_error& e) {
    EXPECT_NE(std::string(e.what()).find("mutex"), std::string::npos) << e.what();
  }
}

// Groups used by a child do not interfere with the group of its parent, nor do other groups of the parent.
TEST(misuse, children_have_groups_of_their_own) {
  std::atomic<int> ran{0};
  on_every_schedule([&ran] {
    plx::task_group group, beside;
    for (int i = 0; i < 4; ++i)
      group.run([&ran] {
        plx::task_group inner;
        for (int k = 0; k < 4; ++k) inner.run([&ran] { ran.fetch_add(1); });
        plx::this_thread::yield();
        inner.run([&ran] { ran.fetch_add(1); });
        inner.wait();
      });
    beside.run([&ran] { ran.fetch_add(1); });
    beside.wait();
    plx::this_thread::yield();
    group.run([&ran] { ran.fetch_add(1); });
    group.wait();
  });
  EXPECT_EQ(ran.load() % 22, 0);
}

TEST(misuse_death, a_runtime_is_destroyed_by_its_own_task) {
  EXPECT_DEATH(
      {
        auto* rt = new plx::runtime({.workers = 2, .bind = false});
        rt->run([rt] { delete rt; });
      },
      "destroyed by one of its own tasks");
}

// From an external thread, the destructor waits for running tasks, even for tasks that create tasks.
TEST(misuse, a_running_runtime_is_destroyed) {
  std::atomic<int> ran{0};
  {
    plx::runtime rt({.workers = 2, .bind = false});
    struct chain {
      std::atomic<int>& ran;
      int left;
      void operator()() const {
        ran.fetch_add(1);
        if (left > 0) plx::post(chain{ran, left - 1});
      }
    };
    rt.post(chain{ran, 200});
  }
  EXPECT_EQ(ran.load(), 201);
}

// An outstanding operation may never complete: the shutdown of a runtime has a deadline all the same.
TEST(misuse, a_poller_that_is_always_pending_does_not_keep_a_runtime_alive) {
  plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.05});
  rt.add_poller([](void*) { return plx::poll_result::pending; }, nullptr);
  rt.run([] {});
}

// The stack of an abandoned task is kept, as is the information that its runtime has ended.
TEST(misuse, an_abandoned_task_may_be_woken_late) {
  plx::promise<int> late;
  auto event = std::make_unique<plx::event>();
  {
    plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.05});
    rt.post([f = late.get_future()]() mutable { (void)f.get(); });
    rt.post([e = event.get()] { e->wait(); });
  }
  late.set_value(1);
  event->set();
}

struct throws_when_copied {
  explicit throws_when_copied(int value) : large{value} {}
  throws_when_copied(const throws_when_copied&) { throw std::runtime_error("copied"); }
  void operator()() const {}
  int large[100];  // too large for the storage inside a task_group
};

// Nothing is leaked (the AddressSanitizer build checks) and nothing is started.
TEST(misuse, a_callable_whose_copy_throws) {
  on_every_schedule([] {
    const throws_when_copied f(1);
    EXPECT_THROW(plx::post(f), std::runtime_error);
    EXPECT_THROW((void)plx::async(f), std::runtime_error);
    plx::task_group g;
    EXPECT_THROW(g.run(f), std::runtime_error);
    g.wait();
  });
}

}  // namespace
