// The counters of a runtime in runs whose values are known, by construction or by the seed.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/test/timeout_test.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"
#include "rt/executor.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace {

using plx::comes_true;
using plx::probe::counter_registry;

double value(plx::runtime& rt, std::string_view name) {
  const auto v = rt.counters().query(name);
  EXPECT_TRUE(v) << (v ? "" : v.error().message);
  return v ? v->at(0).value : -1;
}

void spin_for(double s) {
  const plx::ticks end = plx::now_ticks() + plx::ticks_from(s);
  while (plx::now_ticks() < end) {
  }
}

/// Works until the calling thread has used a core for `s` seconds, however many other threads compete for it.
void work_for(double s) {
  const auto now_s = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double end_s = now_s() + s;
  while (now_s() < end_s) {
  }
}

TEST(counters, tasks_and_yields_are_counted_one_by_one) {
  for (const bool deterministic : {false, true}) {
    plx::runtime rt({.workers = 2, .deterministic = deterministic});
    rt.run([] {
      plx::task_group g;
      for (int i = 0; i < 50; ++i)
        g.run(plx::task_info{}, [] {
          plx::this_thread::yield();
          plx::this_thread::yield();
          plx::this_thread::yield();
        });
      g.wait();
    });
    // The last task is counted after it has signalled this thread.
    EXPECT_TRUE(comes_true(
        [&] { return value(rt, "/threads/count/scheduled") + value(rt, "/threads/count/run-inline") == 51; }));
    const double yields = value(rt, "/threads/count/yields");
    EXPECT_EQ(yields, deterministic ? yields : 150);  // there, the seed adds yields
    EXPECT_GE(yields, 150);
    EXPECT_EQ(value(rt, "/threads/count/suspended"), value(rt, "/threads/count/resumed"));
    EXPECT_EQ(value(rt, "/scheduler/tasks/suspended"), 0);
    EXPECT_EQ(value(rt, "/scheduler/tasks/pending"), 0);
    double sum = 0;
    for (const auto& v : rt.counters().query("/threads{*/worker-thread#*}/count/yields").value()) sum += v.value;
    EXPECT_EQ(sum, yields);
  }
}

/// One worker: the other tasks that a task sees are those it created.
TEST(counters, tasks_by_state_on_one_worker) {
  plx::runtime rt({.workers = 1});
  rt.run([&rt] {
    plx::latch gate(1), ready(4);
    plx::task_group g;
    for (int i = 0; i < 4; ++i)
      g.run([&] {
        ready.count_down();
        gate.wait();
      });
    EXPECT_EQ(value(rt, "/scheduler/queue/length"), 4);
    EXPECT_EQ(value(rt, "/scheduler{locality#0/worker-thread#0}/queue/length"), 4);
    EXPECT_EQ(value(rt, "/scheduler/tasks/pending"), 4);
    EXPECT_EQ(value(rt, "/scheduler/tasks/staged"), 4);
    EXPECT_EQ(value(rt, "/scheduler/tasks/active"), 1);
    EXPECT_EQ(value(rt, "/scheduler/utilization/instantaneous"), 1);
    EXPECT_EQ(value(rt, "/scheduler/stacks/in-use"), 1);
    ready.wait();
    EXPECT_EQ(value(rt, "/scheduler/tasks/pending"), 0);
    EXPECT_EQ(value(rt, "/scheduler/tasks/suspended"), 4);
    EXPECT_EQ(value(rt, "/scheduler/tasks/ready-again"), 0);
    EXPECT_EQ(value(rt, "/scheduler/stacks/in-use"), 5);
    gate.count_down();
    EXPECT_EQ(value(rt, "/scheduler/tasks/ready-again"), 4);
    EXPECT_EQ(value(rt, "/scheduler/tasks/suspended"), 4);
    EXPECT_EQ(value(rt, "/scheduler/tasks/pending"), 4);
    EXPECT_EQ(value(rt, "/scheduler/tasks/staged"), 0);
    g.wait();
    EXPECT_EQ(value(rt, "/scheduler/tasks/suspended"), 0);
  });
  EXPECT_TRUE(comes_true([&] { return value(rt, "/scheduler/tasks/active") == 0; }));
}

TEST(counters, tasks_by_state_with_a_seed) {
  plx::runtime rt({.workers = 3, .deterministic = true, .seed = 7});
  rt.run([&rt] {
    plx::latch gate(1);
    plx::task_group g;
    for (int i = 0; i < 5; ++i) g.run([&] { gate.wait(); });
    while (value(rt, "/scheduler/tasks/suspended") < 5) plx::this_thread::yield();
    EXPECT_EQ(value(rt, "/scheduler/tasks/active"), 1);
    EXPECT_EQ(value(rt, "/scheduler/tasks/suspended"), 5);
    EXPECT_EQ(value(rt, "/scheduler/stacks/in-use"), 6);
    gate.count_down();
    g.wait();
  });
  EXPECT_EQ(value(rt, "/scheduler/tasks/active"), 0);
  EXPECT_FALSE(rt.counters().query("/threads/time/processor"));  // all workers share one thread
}

/// All workers are occupied by tasks that last until they are signalled; then none is.
TEST(counters, active_workers_and_idle_ones) {
  plx::runtime rt({.workers = 3});
  std::atomic<int> running{0};
  std::atomic<bool> end{false};
  for (int i = 0; i < 3; ++i)
    rt.post([&] {
      ++running;
      while (!end) std::this_thread::yield();
      --running;
    });
  ASSERT_TRUE(comes_true([&] { return running == 3; }));
  EXPECT_EQ(value(rt, "/scheduler/tasks/active"), 3);
  EXPECT_EQ(value(rt, "/scheduler/utilization/instantaneous"), 1);
  end = true;
  ASSERT_TRUE(comes_true([&] { return value(rt, "/scheduler/tasks/active") == 0; }));
  // The workers sleep: their idle time grows, and its share is at most 1.
  const double before = value(rt, "/threads/time/idle");
  ASSERT_TRUE(comes_true([&] { return value(rt, "/threads/time/idle") > before + 0.02; }));
  ASSERT_TRUE(rt.counters().reset("/threads/idle-rate"));
  EXPECT_TRUE(comes_true([&] { return value(rt, "/threads/idle-rate") > 0.99; }));
}

/// Times of known lengths: each task spins for 1 ms, on one worker, so that exec is their sum, and the time between
/// them is overhead or idle time; the three together are the whole time.
TEST(counters, times_of_tasks_of_known_length) {
  constexpr int n = 20;
  const plx::ticks before = plx::now_ticks();
  plx::runtime rt({.workers = 1});
  (void)rt.counters();
  const plx::ticks begin = plx::now_ticks();
  rt.run([] {
    for (int i = 0; i < n; ++i) plx::async([] { spin_for(1e-3); }).get();
  });
  EXPECT_GE(value(rt, "/threads/time/exec"), n * 1e-3);
  const auto sum = [&rt] {
    return value(rt, "/threads/time/exec") + value(rt, "/threads/time/idle") + value(rt, "/threads/time/overhead") +
           value(rt, "/threads/time/background");
  };
  // The worker's whole time, once it sleeps; it started between `before` and `begin`.
  EXPECT_TRUE(comes_true([&] {
    const double whole_s = plx::seconds(plx::now_ticks() - begin);
    return sum() >= whole_s * 0.98 - 1e-4;
  }));
  const double times = sum();
  EXPECT_LE(times, plx::seconds(plx::now_ticks() - before) + 1e-4);
  EXPECT_NEAR(value(rt, "/threads/time/func"), value(rt, "/threads/time/exec") + value(rt, "/threads/time/overhead"),
              1e-9);
  EXPECT_NEAR(value(rt, "/threads/time/average-overhead"),
              value(rt, "/threads/time/overhead") / value(rt, "/threads/count/tasks"), 1e-9);
}

/// A poller that takes 200 us per call: its calls and its time are known, and neither counts as task time.
TEST(counters, pollers_have_calls_and_time) {
  plx::runtime rt({.workers = 1});
  static std::atomic<int> calls;
  calls = 0;
  const auto poll = +[](void*) {
    spin_for(2e-4);
    return ++calls % 4 == 0 ? plx::poll_result::progressed : plx::poll_result::pending;
  };
  const auto id = rt.add_poller(poll, nullptr);
  EXPECT_EQ(value(rt, "/scheduler/pollers/count"), 1);
  // 30 slices of an empty task: if the pollers' time were attributed to them, it would be 200 us each, in every round;
  // a slice that loses its core to another thread affects one round only.
  const auto round = [&rt] {
    return rt.run([&rt] {
      const double before = value(rt, "/threads/time/exec");
      for (int i = 0; i < 30; ++i) plx::this_thread::yield();
      return value(rt, "/threads/time/exec") - before;
    });
  };
  bool pollers_time_left_out = false;
  for (int i = 0; i < 50 && !pollers_time_left_out; ++i) pollers_time_left_out = round() < 30 * 1e-4;
  EXPECT_TRUE(pollers_time_left_out);
  ASSERT_TRUE(comes_true([] { return calls >= 20; }));
  rt.remove_poller(id);
  EXPECT_EQ(value(rt, "/scheduler/pollers/count"), 0);
  const int n = calls;
  EXPECT_EQ(value(rt, "/threads/count/poller-calls"), n);
  EXPECT_EQ(value(rt, "/threads/count/poller-progress"), n / 4);
  EXPECT_GE(value(rt, "/threads/background-work"), n * 2e-4);
  EXPECT_TRUE(comes_true([&] {  // once the worker sleeps
    const double ratio = value(rt, "/threads/background-work") / value(rt, "/threads/time/func");
    return std::abs(value(rt, "/threads/background-overhead") - ratio) < 1e-6;
  }));
}

/// While a worker sleeps between two polls, its time is idle or background, not both.
TEST(counters, polling_while_idle_is_not_counted_twice) {
  plx::runtime rt({.workers = 1});
  (void)rt.counters();
  // Idle time counts from when the worker found no work: everything counted from now on is after `begin`.
  ASSERT_TRUE(comes_true([&] { return value(rt, "/threads/time/idle") > 0; }));
  const plx::ticks begin = plx::now_ticks();  // before the values: both grow if this thread loses its core in between
  const double before = value(rt, "/threads/time/idle") + value(rt, "/threads/background-work");
  static std::atomic<int> calls;
  calls = 0;
  const auto id = rt.add_poller(
      +[](void*) {
        spin_for(1e-3);
        return ++calls < 20 ? plx::poll_result::pending : plx::poll_result::idle;
      },
      nullptr);
  ASSERT_TRUE(comes_true([] { return calls >= 20; }));
  rt.remove_poller(id);
  rt.run([] {});  // ends the worker's search, which is then accounted
  const double sum = value(rt, "/threads/time/idle") + value(rt, "/threads/background-work") - before;
  const double whole_s = plx::seconds(plx::now_ticks() - begin);  // idle time grows while this thread reads
  EXPECT_GE(value(rt, "/threads/background-work"), 20e-3);
  EXPECT_LT(sum, whole_s + 5e-3);
}

TEST(counters, naps_until_the_next_task_are_one_idle_period) {
  plx::runtime rt({.workers = 2, .bind = false});
  (void)rt.counters();
  rt.run([&rt] {  // the other worker naps meanwhile, as this task might add others
    // It may sleep without naps since before this task: a task for it ends that.
    std::atomic<bool> awake{false};
    rt.get_executor().with_affinity(1 - *plx::worker_index()).post([&awake] { awake = true; });
    EXPECT_TRUE(comes_true([&] { return awake.load(); }));
    const double sleeps = value(rt, "/threads/count/sleeps"), periods = value(rt, "/threads/count/idle-periods");
    EXPECT_TRUE(comes_true([&] { return value(rt, "/threads/count/sleeps") >= sleeps + 5; }));
    EXPECT_LE(value(rt, "/threads/count/idle-periods"), periods + 1);
  });
  const double periods = value(rt, "/threads/count/idle-periods");
  EXPECT_TRUE(comes_true([&] {
    rt.run([] { spin_for(1e-3); });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return value(rt, "/threads/count/idle-periods") >= periods + 5;
  }));
}

TEST(counters, steals_are_the_tasks_that_others_ran) {
  plx::runtime rt({.workers = 2});
  std::atomic<unsigned> elsewhere{0};
  rt.run([&] {
    const auto here = plx::worker_index();
    plx::task_group g;
    std::atomic<bool> other{false};
    // The parent waits without giving up its worker, so the other worker must steal.
    g.run([&] {
      elsewhere += plx::worker_index() != here;
      other = true;
    });
    while (!other) std::this_thread::yield();
    g.wait();
  });
  EXPECT_EQ(elsewhere, 1u);
  EXPECT_GE(value(rt, "/threads/count/steals"), 1);
}

TEST(counters, threads_of_workers_have_context_switches_and_processor_time) {
#if !defined(__linux__)
  GTEST_SKIP() << "no /proc";
#endif
  plx::runtime rt({.workers = 2});
  rt.run([] { work_for(0.03); });
  if (!rt.counters().query("/threads/time/processor")) GTEST_SKIP() << "no /proc";
  // A sleeping thread gives up its core; the system may count it a moment later.
  EXPECT_TRUE(comes_true([&] { return value(rt, "/threads/context-switches/voluntary") >= 2; }));
  EXPECT_GE(value(rt, "/threads/context-switches/involuntary"), 0);
  EXPECT_TRUE(comes_true([&] { return value(rt, "/scheduler/tasks/active") == 0; }));
  if (std::filesystem::exists("/proc/self/schedstat")) {  // of a running thread it is out of date
    EXPECT_TRUE(comes_true([&] { return value(rt, "/threads/time/processor") >= 0.03 * 0.999; }));
  }
  const double processor_s = value(rt, "/threads/time/processor");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LE(processor_s, static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1.0);
  EXPECT_EQ(rt.counters().query("/threads{*/worker-thread#*}/time/waiting-for-processor")->size(), 2u);
}

TEST(counters, cpu_time_of_threads_is_known_after_their_end) {
  const std::string path = testing::TempDir() + "plx_rt_usage_" + std::to_string(::getpid()) + ".csv";
  auto s = std::make_shared<plx::probe::settings>();
  s->print_counter = "/threads/time/waiting-for-processor,/threads/time/processor,/threads/context-switches/voluntary";
  s->print_format = "csv";
  s->print_to = path;
  {
    plx::runtime rt({.workers = 2, .measure = s});
    rt.run([] { work_for(0.03); });
    if (!rt.counters().query("/threads/time/processor")) GTEST_SKIP() << "no /proc";
  }
  const auto text = plx::read_file(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(text) << text.error().message;
  const std::string& printed = *text;
  const auto last = [&printed](const std::string& name) {
    const std::size_t at = printed.find(",/threads{locality#0/total}/" + name + ",");
    EXPECT_NE(at, std::string::npos) << name << " in\n" << printed;
    return at == std::string::npos ? -1 : std::atof(printed.c_str() + printed.find(',', at + 1) + 1);
  };
  EXPECT_GE(last("time/waiting-for-processor"), 0);
  EXPECT_GE(last("context-switches/voluntary"), 0);
  if (std::filesystem::exists("/proc/self/schedstat")) {
    EXPECT_GE(last("time/processor"), 0.03 * 0.999);
  }
}

TEST(counters, every_one_has_a_unit_and_a_sentence_and_can_be_read) {
  plx::runtime rt({.workers = 2});
  rt.run([] {});
  std::size_t n = 0;
  for (const auto& c : rt.counters().list()) {
    EXPECT_FALSE(c.unit.empty()) << c.name;
    EXPECT_FALSE(c.help.empty()) << c.name;
    ++n;
  }
  const auto all = rt.counters().query("/*{*}/*@*").value();
  EXPECT_EQ(all.size(), n);
  for (const auto& v : all) EXPECT_EQ(v.problem, "") << v.name;
}

TEST(counters, settings_print_sample_and_count_the_kernels_events) {
  const std::string path = testing::TempDir() + "plx_rt_counters_" + std::to_string(::getpid());
  auto s = std::make_shared<plx::probe::settings>();
  s->output = path;
  s->print_counter = "/threads/count/tasks,/statistics{/threads/idle-rate}/max@1,/perf/task-clock";
  s->print_format = "csv";
  s->print_to = path + ".csv";
  s->sample_interval_s = 0.005;
  s->perf = "task-clock";
  testing::internal::CaptureStderr();
  {
    plx::runtime rt({.workers = 2, .measure = s});
    rt.run([] { work_for(0.03); });
  }
  const bool no_perf = !testing::internal::GetCapturedStderr().empty();
  const std::string printed = plx::read_file(path + ".csv").value();
  EXPECT_NE(printed.find(",/threads{locality#0/total}/count/tasks,1,1\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("/statistics{/threads{locality#0/total}/idle-rate}/max@1,"), std::string::npos) << printed;
  if (!no_perf) {
    const std::size_t at = printed.find("/perf{locality#0/total}/task-clock,");
    ASSERT_NE(at, std::string::npos) << printed;
    EXPECT_GE(std::stod(printed.substr(printed.find(',', at) + 1)), 0.02) << printed;  // another kernel clock
  }
  EXPECT_NE(plx::read_file(path + "/counters.csv").value().find("/machine/memory/resident"), std::string::npos);
  std::filesystem::remove_all(path);
  std::filesystem::remove(path + ".csv");
}

}  // namespace
