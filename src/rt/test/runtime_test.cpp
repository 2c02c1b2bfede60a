#include "rt/runtime.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "base/test/timeout_test.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/topology.hpp"
#include "rt/executor.hpp"
#include "rt/latch.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace std::chrono_literals;

TEST(runtime, run_gives_results_and_exceptions) {
  plx::testing::with_every_runtime([](plx::runtime& rt) {
    EXPECT_EQ(rt.run([] { return 5; }), 5);
    EXPECT_THROW(rt.run([]() -> int { throw std::runtime_error("planned"); }), std::runtime_error);
    rt.run([] {});
  });
}

TEST(runtime, workers_and_their_numbers) {
  plx::runtime rt({.workers = 3, .bind = false});
  EXPECT_EQ(rt.worker_count(), 3u);
  EXPECT_EQ(plx::worker_index(), std::nullopt);
  EXPECT_LT(rt.run([] { return plx::worker_index().value(); }), 3u);
  EXPECT_GE(plx::runtime().worker_count(), 1u);
}

TEST(runtime, workers_without_memory_for_stacks_are_an_exception_of_the_constructor) {
#if defined(PLX_ASAN)
  GTEST_SKIP() << "AddressSanitizer has no room for the shadow of such stacks";
#else
  EXPECT_THROW(plx::runtime({.workers = 2, .stack_bytes = std::size_t{1} << 46}), std::bad_alloc);
#endif
}

TEST(runtime, several_in_one_process) {
  plx::runtime a({.workers = 1, .bind = false}), b({.workers = 2, .bind = false});
  std::atomic<unsigned> in_a{0}, in_b{0};
  a.run([&in_a] { plx::async([&in_a] { in_a = plx::thread::hardware_concurrency(); }).get(); });
  b.run([&in_b] { plx::async([&in_b] { in_b = plx::thread::hardware_concurrency(); }).get(); });
  EXPECT_EQ(in_a.load(), 1u);
  EXPECT_EQ(in_b.load(), 2u);
  // A task of one runtime waits for a task of the other.
  plx::promise<int> p;
  auto f = p.get_future();
  b.post([&p] { p.set_value(7); });
  EXPECT_EQ(a.run([&f] { return f.get(); }), 7);
}

TEST(runtime, a_local_of_a_task_of_another_runtime) {
  plx::testing::with_every_runtime([](plx::runtime& outer) {
    outer.run([] {
      std::atomic<int> ran{0};
      {
        plx::runtime inner({.workers = 2, .bind = false});
        inner.post([&ran] { ++ran; });
        EXPECT_EQ(inner.run([] { return plx::async([] { return 5; }).get(); }), 5);
        EXPECT_THROW(inner.run([]() -> int { throw std::runtime_error("planned"); }), std::runtime_error);
      }
      {
        plx::runtime chosen({.workers = 2, .deterministic = true});
        EXPECT_EQ(chosen.run([] { return plx::async([] { return 6; }).get(); }), 6);
        chosen.post([&ran] { ++ran; });
      }
      EXPECT_EQ(ran.load(), 2);
      EXPECT_EQ(plx::async([] { return 7; }).get(), 7);  // in the outer runtime again
    });
  });
}

// The tasks of the inner runtime wait for a task of the outer runtime, whose only worker the shutdown must not occupy.
TEST(runtime, the_end_of_an_inner_runtime_holds_no_worker_of_the_outer_one) {
  plx::runtime outer({.workers = 1, .bind = false});
  outer.run([] {
    plx::promise<int> p;
    std::atomic<int> got{0};
    auto later = plx::async(plx::executor().with_priority(plx::priority::low), [&p] { p.set_value(3); });
    {
      plx::runtime inner({.workers = 1, .bind = false});
      inner.post([&] { got = p.get_future().get(); });
    }
    later.get();
    EXPECT_EQ(got.load(), 3);
  });
}

TEST(runtime, hardware_concurrency_without_a_runtime) {
  EXPECT_EQ(plx::thread::hardware_concurrency(),
            plx::detail::default_worker_count(plx::detail::allowed_cores().size()));
}

TEST(runtime, external_threads_use_the_oldest_living_one) {
  auto a = std::make_unique<plx::runtime>(plx::runtime_options{.workers = 1, .bind = false});
  auto b = std::make_unique<plx::runtime>(plx::runtime_options{.workers = 2, .bind = false});
  auto c = std::make_unique<plx::runtime>(plx::runtime_options{.workers = 3, .bind = false});
  EXPECT_EQ(plx::async([] { return plx::thread::hardware_concurrency(); }).get(), 1u);
  a.reset();
  EXPECT_EQ(plx::async([] { return plx::thread::hardware_concurrency(); }).get(), 2u);
  c.reset();
  EXPECT_EQ(plx::async([] { return plx::thread::hardware_concurrency(); }).get(), 2u);
}

TEST(runtime, the_last_tasks_may_use_it_all) {
  std::atomic<bool> found{false};
  {
    plx::runtime rt({.workers = 2, .bind = false});
    (void)rt.counters();
    rt.post([&] {
      plx::this_thread::sleep_for(5ms);  // meanwhile the destructor waits
      found = rt.counters().query("/scheduler*/tasks/suspended").has_value();
    });
  }
  EXPECT_TRUE(found.load());
}

// Tasks suspended on one worker and resumed on another move fibers between workers; these must be returned.
TEST(runtime, fibers_do_not_pile_up_where_tasks_are_resumed) {
  plx::probe::recorder recorder(2);
  plx::detail::scheduler s({.workers = 2, .deterministic = true}, {}, recorder);
  for (int i = 0; i < 10000; ++i) s.keep_loop_fiber(s.worker_at(1), s.take_loop_fiber(s.worker_at(0)));
  EXPECT_LT(s.stacks().total(), 200u);
}

// Searching workers read the next deadline of every worker in each round: the worker must not lose the line that it
// writes for each task.
TEST(runtime, the_next_deadline_lies_on_a_line_that_its_worker_does_not_write_for_each_task) {
  plx::probe::recorder recorder(1);
  plx::detail::scheduler s({.workers = 1, .deterministic = true}, {}, recorder);
  const plx::detail::worker& w = s.worker_at(0);
  const auto first_line = [](const auto& m) {
    return reinterpret_cast<std::uintptr_t>(&m) / plx::detail::cache_line_bytes;
  };
  const auto last_line = [](const auto& m) {
    return (reinterpret_cast<std::uintptr_t>(&m + 1) - 1) / plx::detail::cache_line_bytes;
  };
  const auto apart = [&](const auto& m) {
    return last_line(m) < first_line(w.timers) || first_line(m) > last_line(w.timers);
  };
  EXPECT_TRUE(apart(w.turn));
  EXPECT_TRUE(apart(w.rng));
  EXPECT_TRUE(apart(w.boundary));
  EXPECT_TRUE(apart(w.searching));
  EXPECT_TRUE(apart(w.executed));
  EXPECT_TRUE(apart(w.spawned));
  EXPECT_TRUE(apart(w.deque));
}

TEST(runtime, waits_can_be_asked_for_while_tasks_run) {
  plx::runtime rt({.workers = 2, .bind = false});
  std::atomic<bool> end{false};
  std::thread asking([&] {
    while (!end) (void)rt.explain_waits();
  });
  rt.run([] {
    plx::task_group g;
    for (std::uint64_t i = 0; i < 8; ++i)
      g.run({plx::probe::register_name("yielding task"), i}, [] {
        for (int k = 0; k < 200; ++k) plx::this_thread::yield();
      });
    g.wait();
  });
  end = true;
  asking.join();
}

TEST(runtime, the_destructor_waits_for_posted_tasks) {
  std::atomic<int> ran{0};
  {
    plx::runtime rt({.workers = 2, .bind = false});
    for (int i = 0; i < 100; ++i)
      rt.post([&ran] {
        plx::this_thread::sleep_for(1ms);
        ran.fetch_add(1);
      });
  }
  EXPECT_EQ(ran.load(), 100);
}

TEST(runtime, abandoned_tasks_are_reported) {
  static std::string text;
  text.clear();
  plx::log_to_function([](void*, plx::log_level, std::string_view line) { text += line; }, nullptr,
                       plx::log_level::error);
  {
    plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.05});
    auto* never = new plx::latch(1);  // lives as long as its waiter: forever
    rt.run([never] { plx::post({plx::probe::register_name("waits forever"), 17}, [never] { never->wait(); }); });
    EXPECT_TRUE(plx::comes_true([&] { return rt.explain_waits().find("latch") != text.npos; }));
  }
  EXPECT_NE(text.find("waits forever"), std::string::npos) << text;
  EXPECT_NE(text.find("latch"), std::string::npos) << text;
  EXPECT_NE(text.find("key 17"), std::string::npos) << text;
}

TEST(runtime, statistics_count_every_task) {
  plx::runtime rt({.workers = 2, .bind = false});
  const auto name = plx::probe::register_name("counted task");
  rt.run([name] {
    std::vector<plx::future<void>> all;
    for (std::uint64_t i = 0; i < 1000; ++i) all.push_back(plx::async({name, i % 10}, [] {}));
    for (auto& f : all) f.get();
    plx::task_group g;
    for (std::uint64_t i = 0; i < 50; ++i) g.run({name, i % 10}, [] { plx::this_thread::yield(); });
    g.wait();
  });
  const auto counted = [&] {
    for (const auto& t : rt.recorder().tasks())
      if (t.id == name) return t;
    return plx::probe::task_statistics{};
  };
  // The worker accounts a task after others have seen its end.
  ASSERT_TRUE(plx::comes_true([&] {
    std::uint64_t calls = 0;
    for (const auto& c : rt.recorder().costs()) calls += c.calls;
    return calls == 1050 && counted().calls == 1050;
  }));
  EXPECT_GE(counted().slices, 1050u);
  const auto costs = rt.recorder().costs();
  ASSERT_EQ(costs.size(), 10u);
  for (const auto& c : costs) EXPECT_EQ(c.calls, 105u);
}

TEST(runtime, counters_tell_what_happened) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    plx::task_group g;
    for (int i = 0; i < 10; ++i) g.run([] {});
    g.wait();
    plx::this_thread::yield();
    for (int i = 0; i < 5; ++i) plx::post([] {});
  });
  rt.run([] {});
  const auto value = [&rt](const char* name) { return rt.counters().query(name).value().at(0).value; };
  EXPECT_EQ(value("/threads{locality#0/total}/count/run-inline"), 10);
  EXPECT_EQ(value("/threads{locality#0/worker-thread#0}/count/run-inline"), 10);
  EXPECT_EQ(value("/threads{locality#0/total}/count/spawned"), 15);
  EXPECT_EQ(value("/threads{locality#0/total}/count/suspended"), 1);
  EXPECT_EQ(value("/threads{locality#0/total}/count/resumed"), 1);
  EXPECT_GE(value("/threads{locality#0/total}/count/scheduled"), 2);
  EXPECT_EQ(value("/threads{locality#0/total}/count/steals"), 0);
  EXPECT_EQ(value("/scheduler{locality#0/total}/tasks/suspended"), 0);
  EXPECT_GT(value("/scheduler{locality#0/total}/stacks/made"), 0);
}

TEST(runtime, pollers_are_called_and_tasks_can_wait_for_them) {
  plx::testing::with_every_runtime([](plx::runtime& rt) {
    struct device {
      std::atomic<int> asked{0};
      std::atomic<bool> busy{false};
      plx::promise<int> done;
    } d;
    const auto id = rt.add_poller(
        [](void* p) {
          auto& dev = *static_cast<device*>(p);
          if (!dev.busy.load()) return plx::poll_result::idle;
          if (dev.asked.fetch_add(1) < 5) return plx::poll_result::pending;
          dev.busy = false;
          dev.done.set_value(dev.asked.load());
          return plx::poll_result::progressed;
        },
        &d);
    EXPECT_EQ(rt.run([&d] {
      auto f = d.done.get_future();
      d.busy = true;
      return f.get();
    }),
              6);
    rt.remove_poller(id);
  });
}

// A sleeping task must resume in time as long as one worker is idle, even if all workers that knew of its timer are
// busy.
TEST(runtime, an_idle_worker_watches_the_timers_of_busy_ones) {
  plx::runtime rt({.workers = 8, .bind = false});
  std::atomic<bool> awake{false};
  std::atomic<int> overslept{0};
  const auto busy = [&awake, &overslept] {  // keeps a worker busy until the sleeper is awake
    const auto end = std::chrono::steady_clock::now() + plx::test_timeout;
    while (!awake && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (!awake) overslept.fetch_add(1);
  };
  std::this_thread::sleep_for(5ms);
  rt.run([&] {
    auto sleeper = plx::async([&awake] {
      plx::this_thread::sleep_for(60ms);
      awake = true;
    });
    std::vector<plx::future<void>> others;
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(5ms);  // blocks the worker's thread: the sleeper's is the only timer
      others.push_back(plx::async(busy));
    }
    busy();
    for (auto& f : others) f.get();
    sleeper.get();
  });
  EXPECT_EQ(overslept.load(), 0);
}

TEST(runtime, a_poller_is_called_although_all_workers_sleep) {
  plx::runtime rt({.workers = 2, .bind = false});
  std::this_thread::sleep_for(5ms);
  std::atomic<int> asked{0};
  const auto id = rt.add_poller(
      [](void* p) {
        const int n = static_cast<std::atomic<int>*>(p)->fetch_add(1);
        return n < 100 ? plx::poll_result::pending : plx::poll_result::idle;
      },
      &asked);
  while (asked.load() < 100) std::this_thread::yield();
  rt.remove_poller(id);
}

// Large data arrive in parts, each of which takes longer than a worker searches before it sleeps: it must not sleep
// after each part.
TEST(runtime, no_worker_sleeps_while_polled_data_arrive) {
  plx::runtime rt({.workers = 1, .bind = false});
  struct parts {
    const plx::detail::worker& w;
    unsigned came = 0;
    std::uint64_t sleeps = 0;
    std::atomic<bool> all{false};
  } p{rt.get_scheduler().worker_at(0)};
  const auto id = rt.add_poller(
      [](void* arg) {
        auto& seen = *static_cast<parts*>(arg);
        if (seen.came == 100) return plx::poll_result::idle;
        for (const auto begin = plx::now_ticks(); plx::now_ticks() - begin < plx::ticks_from(60e-6);) {
        }
        if (++seen.came == 1) seen.sleeps = seen.w.sleeps.get();
        if (seen.came == 100) {
          seen.sleeps = seen.w.sleeps.get() - seen.sleeps;
          seen.all = true;
        }
        return plx::poll_result::progressed;
      },
      &p);
  while (!p.all) std::this_thread::yield();
  rt.remove_poller(id);
  EXPECT_EQ(p.sleeps, 0u);
}

// The system wakes a sleeping thread late: a worker stays awake until a deadline that is nearer than that delay.
TEST(runtime, no_worker_sleeps_before_a_near_deadline) {
  using namespace std::chrono_literals;
  plx::runtime rt({.workers = 1, .bind = false});
  const plx::detail::worker& w = rt.get_scheduler().worker_at(0);
  const auto sleeps_while = [&w](int times, std::chrono::microseconds each) {
    const std::uint64_t before = w.sleeps.get();
    for (int i = 0; i < times; ++i) plx::this_thread::sleep_for(each);
    return w.sleeps.get() - before;
  };
  rt.run([&] {
    EXPECT_EQ(sleeps_while(100, 60us), 0u);
    EXPECT_TRUE(plx::comes_true([&] { return sleeps_while(1, 50ms) >= 1; }, [] {}));  // unless it loses its core first
  });
}

// Pollers run between tasks, where nothing can be suspended.
TEST(runtime, pollers_may_notify_in_the_deterministic_mode) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    plx::runtime rt({.workers = 2, .deterministic = true, .seed = seed});
    plx::counting_semaphore<> done(0);
    const auto id = rt.add_poller(
        [](void* p) {
          static_cast<plx::counting_semaphore<>*>(p)->release();
          return plx::poll_result::progressed;
        },
        &done);
    rt.run([&] {
      for (int i = 0; i < 10; ++i) done.acquire();
      rt.remove_poller(id);
    });
  }
}

// Workers are bound if the cores were named or assigned to this process, and there are as many workers as cores.
// Otherwise they can move away when another program uses their core.
TEST(runtime, workers_are_bound_when_the_cores_are_theirs) {
  const auto cores = static_cast<unsigned>(plx::detail::allowed_cores().size());
  const auto processors = [](unsigned workers, const char* named = "") {
    plx::runtime rt({.workers = workers, .cores = named});
    return rt.run([] {
      cpu_set_t set;
      CPU_ZERO(&set);
      sched_getaffinity(0, sizeof set, &set);
      return CPU_COUNT(&set);
    });
  };
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  EXPECT_EQ(processors(cores), plx::detail::processors_were_given() ? 1 : CPU_COUNT(&mine));
  EXPECT_EQ(processors(cores, "all"), 1);
  setenv("PLX_BIND", "1", 1);
  EXPECT_EQ(processors(cores), 1);
  EXPECT_EQ(processors(cores + 1), CPU_COUNT(&mine));
  setenv("PLX_BIND", "0", 1);
  EXPECT_EQ(processors(cores, "all"), CPU_COUNT(&mine));
  setenv("PLX_BIND", "yes", 1);
  EXPECT_THROW(processors(cores), std::invalid_argument);
  unsetenv("PLX_BIND");
}

TEST(runtime, more_workers_than_processors) {
  plx::runtime rt({.workers = 16});
  std::atomic<int> n{0};
  rt.run([&n] {
    plx::task_group g;
    for (int i = 0; i < 1000; ++i) g.run([&n] { n.fetch_add(1); });
    g.wait();
  });
  EXPECT_EQ(n.load(), 1000);
}

TEST(runtime, many_suspended_tasks) {
  plx::runtime rt({.workers = 2, .bind = false});
  std::atomic<int> ended{0};
  rt.run([&ended] {
    constexpr int tasks = 20000;
    plx::latch go(1);
    std::vector<plx::future<void>> all;
    all.reserve(tasks);
    for (int i = 0; i < tasks; ++i)
      all.push_back(plx::async([&] {
        go.wait();
        ended.fetch_add(1);
      }));
    go.count_down();
    for (auto& f : all) f.get();
  });
  EXPECT_EQ(ended.load(), 20000);
}

TEST(runtime_death, tasks_without_a_runtime) {
  EXPECT_DEATH((void)plx::async([] {}), "no runtime");
}

TEST(runtime_death, a_poller_must_not_wait) {
  EXPECT_DEATH(
      {
        plx::runtime rt({.workers = 1, .bind = false});
        rt.add_poller(
            [](void*) {
              plx::this_thread::yield();
              return plx::poll_result::idle;
            },
            nullptr);
        rt.run([] { plx::this_thread::sleep_for(1h); });
      },
      "a poller must not wait");
}

TEST(runtime_death, run_inside_a_task) {
  EXPECT_DEATH(
      {
        plx::runtime rt({.workers = 1, .bind = false});
        rt.run([&rt] { rt.run([] {}); });
      },
      "inside a task");
}

}  // namespace
