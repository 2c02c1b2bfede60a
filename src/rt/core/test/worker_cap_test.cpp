// The actuator worker-cap: workers above it sleep, nothing is lost, and nothing hangs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include "base/test/timeout_test.hpp"
#include "control/policy.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/algorithm/for_loop.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace plx {
namespace {

using namespace std::chrono_literals;

probe::actuator_of<std::int64_t>& cap_of(runtime& rt) {
  return *rt.actuators().find_as<std::int64_t>("worker-cap").value();
}
void set_cap(runtime& rt, std::int64_t n) { EXPECT_TRUE(cap_of(rt).set(n, "test", "").has_value()); }

int fib(int n) {
  if (n < 2) return n;
  int a = 0, b = 0;
  task_group g;
  g.run([&] { a = fib(n - 1); });
  b = fib(n - 2);
  g.wait();
  return a + b;
}

task_info pinned_to(unsigned worker) { return {0, probe::no_key, {.worker = static_cast<std::uint16_t>(worker + 1)}}; }

/// The workers that run tasks: each waits a moment for one more worker than the cap allows.
std::vector<bool> who_works(runtime& rt, unsigned expected) {
  std::vector<std::atomic<bool>> seen(rt.worker_count());
  rt.run([&] {
    std::atomic<unsigned> n{0};
    task_group g;
    for (int i = 0; i < 200; ++i)
      g.run([&] {
        if (!seen[*worker_index()].exchange(true)) ++n;
        const auto until = std::chrono::steady_clock::now() + 200us;
        while (n <= expected && std::chrono::steady_clock::now() < until) std::this_thread::yield();
      });
    g.wait();
  });
  return {seen.begin(), seen.end()};
}

TEST(worker_cap, has_bounds_and_a_counter) {
  runtime rt({.workers = 3, .bind = false});
  auto& cap = cap_of(rt);
  EXPECT_EQ(cap.get(), 3);
  EXPECT_EQ(cap.set(0, "test", "").error().message, "actuator 'worker-cap': expected 1 to 3, found 0");
  EXPECT_FALSE(cap.set(4, "test", "").has_value());
  set_cap(rt, 2);
  EXPECT_EQ(rt.counters().query("/scheduler/worker-cap").value().at(0).value, 2);
}

// A worker above the cap that took tasks would be seen.
TEST(worker_cap, workers_above_it_run_nothing_and_come_back) {
  runtime rt({.workers = 4, .bind = false});
  for (const unsigned cap : {4u, 1u, 3u, 1u, 4u, 2u}) {
    set_cap(rt, cap);
    // A worker that was searching when the cap fell may still take a task, and another one may be scheduled late.
    int without_others = 0;
    bool all_came = false;
    EXPECT_TRUE(comes_true([&] {
      const std::vector<bool> works = who_works(rt, cap);
      const auto others = std::count(works.begin() + cap, works.end(), true);
      without_others = others == 0 ? without_others + 1 : 0;
      all_came |= std::count(works.begin(), works.begin() + cap, true) == cap;
      return without_others >= 3 && all_came;
    })) << "under the cap "
        << cap;
  }
}

TEST(worker_cap, changes_while_tasks_run_on_every_schedule) {
  testing::with_every_runtime([](runtime& rt) {
    auto& cap = cap_of(rt);
    const std::int64_t most = rt.worker_count();
    const int sum = rt.run([&] {
      int total = 0;
      task_group g;
      for (int i = 0; i < 12; ++i)
        g.run([&cap, most, i] {
          EXPECT_TRUE(cap.set(1 + i * 5 % most, "test", "").has_value());
          this_thread::yield();
          fib(6);
        });
      total = fib(9);
      g.wait();
      return total;
    });
    EXPECT_EQ(sum, 34);
  });
}

TEST(worker_cap, pinned_tasks_run_on_every_schedule) {
  testing::with_every_runtime([](runtime& rt) {
    set_cap(rt, 1);
    rt.run([&] {
      mutex m;
      std::vector<future<void>> all;
      for (unsigned i = 0; i < 12; ++i) {
        const unsigned worker = i % rt.worker_count();
        all.push_back(async(pinned_to(worker), [&m, worker] {
          EXPECT_EQ(worker_index(), worker);
          this_thread::yield();
          EXPECT_EQ(worker_index(), worker);
          const std::lock_guard lock(m);
          this_thread::sleep_for(std::chrono::microseconds(1));
          EXPECT_EQ(fib(4), 3);  // its children may be stolen, but not by a parked worker
        }));
      }
      for (auto& f : all) f.get();
    });
  });
}

TEST(worker_cap, a_parked_worker_wakes_for_tasks_that_are_pinned_to_it) {
  runtime rt({.workers = 3, .bind = false});
  set_cap(rt, 1);
  for (int i = 0; i < 50; ++i) {
    if (i % 10 == 0) std::this_thread::sleep_for(2ms);  // worker 2 certainly sleeps
    rt.run([] { EXPECT_EQ(async(pinned_to(2), [] { return *worker_index(); }).get(), 2u); });
  }
}

// Other workers steal the tasks in a parked worker's deque.
TEST(worker_cap, tasks_of_a_parked_worker_are_stolen) {
  runtime rt({.workers = 2, .bind = false});
  rt.run([&] {
    latch all(65);
    async(pinned_to(1), [&] {
      for (int i = 0; i < 64; ++i) post([&all] { all.count_down(); });
      set_cap(rt, 1);
      all.count_down();
    }).get();
    all.wait();
  });
}

TEST(worker_cap, a_loop_ends_under_any_cap) {
  runtime rt({.workers = 4, .bind = false});
  std::atomic<bool> end{false};
  std::thread turns([&] {
    for (int i = 0; !end; ++i) {
      set_cap(rt, 1 + i % 4);
      std::this_thread::sleep_for(50us);
    }
  });
  std::int64_t total = 0;
  for (int i = 0; i < 200; ++i) {
    std::atomic<std::int64_t> sum{0};
    rt.run([&] { for_loop(0, 1000, [&](int k) { sum += k; }); });
    total += sum;
  }
  end = true;
  turns.join();
  EXPECT_EQ(total, 200 * 999 * 1000 / 2);
}

TEST(worker_cap, timers_go_off) {
  runtime rt({.workers = 2, .bind = false});
  set_cap(rt, 1);
  for (int i = 0; i < 5; ++i) rt.run([] { this_thread::sleep_for(2ms); });
}

TEST(worker_cap, a_runtime_ends_with_parked_workers) {
  for (int i = 0; i < 60; ++i) {
    runtime rt({.workers = 4, .bind = false});
    set_cap(rt, 1 + i % 4);
    for (int k = 0; k < i % 5; ++k) rt.post([] { fib(5); });
    if (i % 3 == 0) set_cap(rt, 1);
  }
}

TEST(worker_cap, a_capped_runtime_without_work_leaves_its_cores_alone) {
  const auto used_s = [] {
    std::timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  runtime rt({.workers = 4, .bind = false});
  set_cap(rt, 2);
  rt.run([] { fib(10); });
#if defined(PLX_TSAN) || defined(PLX_ASAN)
  constexpr double most_of_a_core = 0.1;
#else
  constexpr double most_of_a_core = 0.01;
#endif
  EXPECT_TRUE(comes_true([&] {
    const double before = used_s();
    std::this_thread::sleep_for(100ms);
    return used_s() - before < 0.1 * most_of_a_core;
  }));
}

}  // namespace
}  // namespace plx
