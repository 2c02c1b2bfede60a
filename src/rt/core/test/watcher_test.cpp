// The watcher: one sleeper takes naps while others work (scheduler::sleep_until_work). It must find single tasks, and
// stop when no worker runs tasks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/async.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"

namespace plx {
namespace {

double sleeps_of(runtime& rt) {
  return rt.counters().query("/threads{locality#0/total}/count/sleeps").value().front().value;
}

void make_others_watch() {
  for (int i = 0; i < 20000; ++i) async([] {}).get();
}

// Tasks that are run inline immediately wake no worker; a task that is not run inline is found nevertheless.
TEST(watcher, finds_a_single_task_that_its_maker_does_not_run_inline) {
  for (const unsigned workers : {2u, 3u}) {
    runtime rt({.workers = workers, .bind = false});
    for (int round = 0; round < 20; ++round) {
      const bool found = rt.run([] {
        make_others_watch();
        std::atomic<bool> ran{false};
        auto child = async([&ran] { ran = true; });
        const auto until = std::chrono::steady_clock::now() + test_timeout;
        while (!ran && std::chrono::steady_clock::now() < until) sched_yield();
        const bool ran_elsewhere = ran;
        child.get();
        return ran_elsewhere;
      });
      EXPECT_TRUE(found);
    }
  }
}

TEST(watcher, sleeps_indefinitely_when_no_worker_is_busy) {
  runtime rt({.workers = 3, .bind = false});
  rt.run([] { make_others_watch(); });
  // Once all workers sleep, however late, the count does not change.
  EXPECT_TRUE(comes_true([&rt] {
    const double before = sleeps_of(rt);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return sleeps_of(rt) == before;
  }));
}

TEST(watcher, an_external_post_wakes_a_worker_while_another_is_busy) {
  runtime rt({.workers = 2, .bind = false});
  std::atomic<bool> busy{false}, ran{false};
  std::thread outside([&] {
    while (!busy) std::this_thread::yield();
    rt.post([&] { ran = true; });
  });
  rt.run([&] {
    make_others_watch();
    busy = true;
    while (!ran) sched_yield();
  });
  outside.join();
}

// The parent of a loop is handed over to the worker on which it waits. If that worker is kept by a poller meanwhile,
// another one resumes the parent.
TEST(watcher, resumes_a_parent_whose_worker_is_kept_by_a_poller) {
  struct shared {
    std::atomic<int> begun{0};
    std::atomic<unsigned> parent{~0u};
    std::atomic<bool> parent_waits{false}, kept{false}, resumed{false}, in_time{false};
  } it;
  runtime rt({.workers = 2, .bind = false});
  const auto id = rt.add_poller(
      [](void* arg) {
        auto& mine = *static_cast<shared*>(arg);
        const detail::worker& w = *detail::this_worker();
        if (!mine.parent_waits || mine.kept || w.index != mine.parent || !w.searching) return poll_result::pending;
        mine.kept = true;
        const auto until = std::chrono::steady_clock::now() + test_timeout;
        while (!mine.resumed && std::chrono::steady_clock::now() < until) sched_yield();
        mine.in_time = mine.resumed.load();
        return poll_result::pending;
      },
      &it);
  rt.run([&it] {
    it.parent = *worker_index();
    for_loop(0, 2, [&it](int) {
      ++it.begun;
      while (it.begun < 2) sched_yield();  // one iteration on each worker
      if (*worker_index() == it.parent)
        it.parent_waits = true;
      else
        while (!it.kept) sched_yield();
    });
    it.resumed = true;
  });
  rt.remove_poller(id);  // waits for the poller
  EXPECT_TRUE(it.in_time);
}

}  // namespace
}  // namespace plx
