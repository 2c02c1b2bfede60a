// Urgent tasks, timers and pollers while a worker is inside one task and no other one is idle: it runs children inline,
// awaits futures one by one, or runs the chunks of a loop.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "rt/core/scheduler.hpp"
#include "rt/coroutine.hpp"
#include "rt/executor.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int n_steps = 300;

void busy() { std::this_thread::sleep_for(300us); }  // the worker's thread, not the task

plx::task<void> busy_child(std::function<void(int)> step, int i) {
  step(i);
  co_return;
}

/// Ways in which one task calls step(0) .. step(n_steps - 1) without ending.
struct way {
  const char* name;
  void (*call)(const std::function<void(int)>& step);
};
const std::vector<way> ways = {
    {"children of a group",
     [](const std::function<void(int)>& step) {
       plx::task_group g;
       for (int i = 0; i < n_steps; ++i) g.run([&step, i] { step(i); });
       g.wait();
     }},
    {"named children",
     [](const std::function<void(int)>& step) {
       plx::task_group g;
       const plx::task_info named(plx::probe::register_name("child"));
       for (int i = 0; i < n_steps; ++i) g.run(named, [&step, i] { step(i); });
       g.wait();
     }},
    {"futures",
     [](const std::function<void(int)>& step) {
       for (int i = 0; i < n_steps; ++i) plx::async([&step, i] { step(i); }).get();
     }},
    {"a loop", [](const std::function<void(int)>& step) { plx::for_loop(0, n_steps, [&step](int i) { step(i); }); }},
    {"coroutines",
     [](const std::function<void(int)>& step) {
       std::vector<plx::task<void>> all;
       for (int i = 0; i < n_steps; ++i) all.push_back(busy_child(step, i));
       plx::sync_wait([](std::vector<plx::task<void>> children) -> plx::task<void> {
         co_await plx::when_all(std::move(children));
       }(std::move(all)));
     }},
};

/// Calls test(runtime, way) for each way, with one worker and with two, of which the other one runs a task that passes
/// no boundary.
template <class Test>
void with_all_workers_busy(Test test) {
  for (const way& each : ways)
    for (const unsigned workers : {1u, 2u}) {
      SCOPED_TRACE(std::string(each.name) + ", workers " + std::to_string(workers));
      plx::runtime rt({.workers = workers, .bind = false});
      std::atomic<bool> occupied{workers == 1}, done{false};
      if (!occupied)
        rt.post([&] {
          occupied = true;
          while (!done) std::this_thread::sleep_for(100us);
        });
      while (!occupied) std::this_thread::yield();
      test(rt, each);
      done = true;
    }
}

TEST(boundaries, an_urgent_task_begins_soon) {
  with_all_workers_busy([](plx::runtime& rt, const way& each) {
    rt.run([&each] {
      int begun = 0, before = -1;
      plx::future<void> urgent;
      each.call([&](int) {
        if (++begun == 5)
          urgent = plx::async(plx::executor().with_priority(plx::priority::high), [&] { before = begun; });
        busy();
      });
      urgent.get();
      EXPECT_EQ(begun, n_steps);
      EXPECT_LT(before, 5 + 15);
    });
  });
}

TEST(boundaries, a_pinned_task_begins_soon) {
  for (const way& each : ways) {
    SCOPED_TRACE(each.name);
    plx::runtime rt({.workers = 1, .bind = false});
    rt.run([&each] {
      int begun = 0, before = -1;
      plx::future<void> pinned;
      each.call([&](int) {
        if (++begun == 5) pinned = plx::async(plx::executor().with_affinity(0), [&] { before = begun; });
        busy();
      });
      pinned.get();
      EXPECT_LT(before, 5 + 15);
    });
  }
}

TEST(boundaries, a_timer_fires_and_its_task_begins) {
  with_all_workers_busy([](plx::runtime& rt, const way& each) {
    rt.run([&each] {
      int begun = 0, before = n_steps;
      auto sleeping = plx::async([&] {
        plx::this_thread::sleep_for(1ms);
        before = begun;
      });
      plx::this_thread::yield();  // it sleeps now
      each.call([&](int) {
        ++begun;
        busy();
      });
      sleeping.get();
      EXPECT_LT(before, n_steps / 2);
    });
  });
}

TEST(boundaries, pollers_are_called_and_their_tasks_begin) {
  with_all_workers_busy([](plx::runtime& rt, const way& each) {
    struct polled {
      bool counted = false;
      int calls = 0;
      plx::promise<void> fifth;
    } it;
    const auto id = rt.add_poller(
        [](void* arg) {
          auto& mine = *static_cast<polled*>(arg);
          if (!mine.counted || ++mine.calls != 5) return plx::poll_result::pending;
          mine.fifth.set_value();
          return plx::poll_result::progressed;
        },
        &it);
    rt.run([&] {
      int begun = 0, before = n_steps;
      auto awaiting = plx::async([&] {
        it.fifth.get_future().get();
        before = begun;
      });
      plx::this_thread::yield();
      it.counted = true;
      each.call([&](int) {
        ++begun;
        busy();
      });
      EXPECT_GT(it.calls, n_steps / 10);
      awaiting.get();
      EXPECT_LT(before, n_steps / 2);
    });
    rt.remove_poller(id);
  });
}

// A wait with pollers polls for some microseconds only, also if the only poller does not read the clock: the timer of
// the awaited task needs the worker.
TEST(boundaries, a_poller_that_keeps_the_clock_does_not_hold_a_waiting_worker) {
  plx::runtime rt({.workers = 1});
  using plx::detail::scheduler;
  const auto id = rt.get_scheduler().add_poller([](void*) { return plx::poll_result::idle; }, nullptr,
                                                scheduler::poll_clock_use::keeps);
  rt.run([] {
    auto sleeping = plx::async([] { plx::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    plx::this_thread::yield();
    sleeping.get();
  });
  rt.remove_poller(id);
}

// Tasks that yield resume: urgent tasks that wait for children of their own do not alternate forever.
TEST(boundaries, urgent_tasks_with_children) {
  plx::runtime rt({.workers = 2, .bind = false});
  rt.run([] {
    const auto urgent = plx::executor().with_priority(plx::priority::high);
    std::atomic<int> ran{0};
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 50; ++i)
      all.push_back(plx::async(urgent, [&] {
        plx::task_group g;
        for (int k = 0; k < 20; ++k) g.run([&ran] { ran.fetch_add(1); });
        g.wait();
        plx::for_loop(0, 100, [&ran](int) { ran.fetch_add(1); });
      }));
    for (auto& f : all) f.get();
    EXPECT_EQ(ran.load(), 50 * 120);
  });
}

}  // namespace
