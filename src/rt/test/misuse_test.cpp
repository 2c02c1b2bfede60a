// What is defined when the runtime is used as it should not be, or where its edges are. Other cases stand beside what
// they are about: second get, broken promise (future_test.cpp), joinable threads dropped (thread_test.cpp), no runtime,
// run() inside a task (runtime_test.cpp), deadlocks (explain_test.cpp).
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

// Tests whose programs end on purpose leave no flight files (tests/flight looks at those).
[[maybe_unused]] const int no_flight_files = setenv("PLX_FLIGHT", "0", 0);

// Nobody reads what a continuation threw: it goes with the future, as a call's does, and disturbs nobody else.
TEST(misuse, an_exception_out_of_a_continuation_that_nobody_reads) {
  on_every_schedule([] {
    auto alive = std::make_shared<int>(0);
    std::atomic<int> ran{0};
    {
      plx::promise<int> p;
      plx::shared_future<int> s = p.get_future();
      const auto failing = [&ran, alive](auto f) -> int {
        ran.fetch_add(f.get());
        throw std::runtime_error("nobody reads this");
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

// Mutexes, conditions and promises do without a runtime: threads wait for each other as with std's.
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
TEST(misuse, a_foreign_thread_waits_for_a_mutex_of_a_suspended_task) {
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

// A plain mutex does not count: its owner waits for itself, and that is a deadlock which is named.
TEST(misuse, a_mutex_locked_again_by_its_owner) {
  plx::runtime rt({.workers = 2, .deterministic = true, .shutdown_deadline_s = 0});
  auto* m = new plx::mutex;  // abandoned with who waits for it
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

// What a child's own children do is their own affair, and so are groups beside it.
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

// From outside the destructor waits for what runs, even for tasks that make tasks.
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

// What is outstanding may never come: the end of a runtime has a deadline all the same.
TEST(misuse, a_poller_that_is_always_pending_does_not_keep_a_runtime_alive) {
  plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.05});
  rt.add_poller([](void*) { return plx::poll_result::pending; }, nullptr);
  rt.run([] {});
}

// The stack of an abandoned task stays, and so does what is needed to see that nobody is left to run it.
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
  int large[100];  // too large for the place inside a task_group
};

// Nothing is leaked (AddressSanitizer's build checks) and nothing is started.
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
