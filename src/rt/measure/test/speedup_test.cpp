// Virtual speed-ups of a running program. No time is asserted: what the accounts must obey on any machine is, and which
// lines a user gets.
#include "rt/measure/speedup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/file.hpp"
#include "base/test/timeout_test.hpp"
#include "control/progress.hpp"
#include "probe/monitor/task_counts.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/settings.hpp"
#include "rt/async.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/executor.hpp"
#include "rt/future.hpp"
#include "rt/measure/test/counted_by_hand_test.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace plx {
namespace {

using ::testing::HasSubstr;

std::string folder() { return probe::temporary_path("speedup"); }

runtime_options options_with(std::string speedup, std::string progress_point = {}, unsigned workers = 3) {
  auto measure = std::make_shared<probe::settings>();
  measure->output = folder();
  measure->speedup = std::move(speedup);
  measure->progress = std::move(progress_point);
  measure->flight = 0;
  return {.workers = workers, .bind = false, .measure = measure};
}

task_info named(const char* name) { return {probe::register_name(name)}; }

void work(int n) {
  for (int i = 0; i < n; ++i) asm volatile("" : : "r"(i));
}

/// Tasks that wait for each other in all ways, with inline children, sleeps and a lock.
void step() {
  static mutex m;
  task_group g;
  for (int i = 0; i < 6; ++i)
    g.run(named("speedup child"), [] {
      work(20000);
      const std::lock_guard guard(m);
      work(2000);
    });
  auto beside = async(named("speedup beside"), [] {
    this_thread::sleep_for(std::chrono::microseconds(200));
    work(10000);
  });
  async(named("speedup chain"), [] {
    work(10000);
  }).then(named("speedup chain"), [](future<void>) {
      work(10000);
    }).get();
  g.wait();
  beside.get();
}

const detail::speedups& speedups_of(runtime& rt) { return *rt.get_scheduler().worker_at(0).delays->owner(); }

// Every change of an account is inserted delay, own gain or excused, in the running scheduler as on the simulated one.
TEST(speedup, accounts_add_up_in_a_running_program) {
  probe::speedup_report r;
  std::vector<bool> adds_up;
  ticks required = 0;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    runtime rt(options_with("speedup ch*"));
    const auto& s = speedups_of(rt);
    rt.run([&] {
      ASSERT_TRUE(comes_true([&] { return step(), progress("step"), s.report().experiments >= 14; }, [] {}));
    });
    r = s.report();
    required = s.pool().required.load();
    for (unsigned i = 0; i < rt.worker_count(); ++i) {  // the last slice may still end
      const detail::delay_account& a = *rt.get_scheduler().worker_at(i).delays;
      adds_up.push_back(comes_true([&] { return a.account() == a.inserted() + a.own() + a.excused(); }));
    }
  }
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(adds_up, std::vector<bool>(3, true));
  EXPECT_GT(required, 0u);
  EXPECT_EQ(r.point, "step");
  ASSERT_EQ(r.gains.size(), 6u) << "two types, three speed-ups each";
  EXPECT_GT(r.period_s, 0);
  EXPECT_THAT(read_file(folder() + "/speedup.csv").value(), HasSubstr("\nspeedup child,25,"));
}

/// Runs `program` with speed-ups whose experiments never begin.
template <class Program>
void run_quietly(unsigned workers, Program program) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    runtime rt(options_with("1", {}, workers));
    program(rt);
  }
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

detail::delay_account& account_of(runtime& rt, unsigned worker) { return *rt.get_scheduler().worker_at(worker).delays; }

TEST(speedup, a_poller_is_not_part_of_the_task_that_waits) {
  run_quietly(1, [](runtime& rt) {
    static const ticks long_poll = ticks_from(5e-3);
    struct poll_state {
      std::atomic<bool> waits{false};
      promise<void> answer;
    } s;
    const std::uint64_t poller = rt.add_poller(
        [](void* p) {
          auto& state = *static_cast<poll_state*>(p);
          if (!state.waits.exchange(false)) return poll_result::pending;
          for (const ticks begin = now_ticks(); now_ticks() - begin < long_poll;) work(100);
          state.answer.set_value();
          return poll_result::progressed;
        },
        &s);
    const task_info waits = named("speedup waits");
    account_of(rt, 0).pool().make_faster(waits.name, 50);
    rt.run(waits, [&] {
      future<void> f = s.answer.get_future();
      s.waits = true;
      f.get();
    });
    rt.remove_poller(poller);
    rt.run([] {});  // the slices of `waits` have ended
    double in_tasks_s = 0;
    for (const auto& t : rt.recorder().tasks()) in_tasks_s += t.id == waits.name ? t.total_s : 0;
    EXPECT_GT(in_tasks_s, 0);
    EXPECT_LE(seconds(account_of(rt, 0).own()), 0.5 * in_tasks_s + 1e-6);
  });
}

// The reader may hold a lock that a poller takes.
TEST(speedup, reading_a_result_serves_no_events) {
  run_quietly(2, [](runtime& rt) {
    struct poll_state {
      std::atomic<std::thread::id> reader{};
      std::atomic<bool> served{false};
    } s;
    const std::uint64_t poller = rt.add_poller(
        [](void* p) {
          auto& state = *static_cast<poll_state*>(p);
          if (std::this_thread::get_id() == state.reader) state.served = true;
          return poll_result::idle;
        },
        &s);
    ticks inserted = 0;
    rt.run(named("speedup reader"), [&] {
      future<void> f = async(named("speedup child"), [] { work(1000); });
      ASSERT_TRUE(comes_true([&] { return f.is_ready(); }));
      detail::delay_account& mine = *detail::this_worker()->delays;
      mine.pool().required.fetch_add(ticks_from(5e-3));  // as much delay is due
      s.reader = std::this_thread::get_id();
      f.get();
      s.reader = std::thread::id();
      inserted = mine.inserted();
    });
    rt.remove_poller(poller);
    EXPECT_GT(inserted, 0u);
    EXPECT_FALSE(s.served);
  });
}

// The delay is behind a child that runs in the frame of its parent.
TEST(speedup, events_during_a_delay_are_of_no_task) {
  run_quietly(1, [](runtime& rt) {
    counts_by_hand counts(rt);
    struct poll_state {
      counted_by_hand& event;
      std::atomic<bool> wanted{false};
    } s{counts.event()};
    const std::uint64_t poller = rt.add_poller(
        [](void* p) {
          auto& state = *static_cast<poll_state*>(p);
          if (state.wanted.exchange(false)) state.event.n += 1000;
          return poll_result::idle;
        },
        &s);
    rt.run(named("speedup parent"), [&] {
      task_group g;
      g.run(named("speedup child"), [&] {
        account_of(rt, 0).pool().required.fetch_add(ticks_from(5e-3));  // as much delay is due
        s.wanted = true;
      });
      g.wait();
    });
    rt.remove_poller(poller);
    const probe::counts_of_tasks all = counts.sums_at_the_end();
    EXPECT_EQ(all.of(named("speedup parent").name).events[0], 0u);
    EXPECT_EQ(all.of(named("speedup child").name).events[0], 0u);
    EXPECT_EQ(all.no_task[0], s.event.n);
  });
}

// Without a runtime, on a clock of the test: three steps of 10 s, then short ones.
TEST(speedup, long_first_steps_make_the_first_experiment_alone_long) {
  probe::recorder r(1);
  r.worker(0).record({.name = named("speedup work").name, .begin = 1, .end = ticks_from(1)});
  detail::speedups s({.speedup = "speedup work"}, r, 1);
  ticks now = ticks_from(1);
  const auto steps = [&](int n, double step_s) {
    for (; n > 0; --n) now += ticks_from(step_s), s.passed_at("step", now, now);
  };
  steps(4, 10);     // the program warms up, and the first experiment begins
  steps(300, 0.1);  // 22.5 s of it
  EXPECT_GT(s.report().experiments, 10u) << "0.3 to 0.4 s each";
}

struct output {
  std::string out, err;
};

output output_of(runtime_options o, std::string point, int steps) {
  std::filesystem::remove_all(folder());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    runtime rt(o);
    rt.run([&] {
      for (int i = 0; i < steps; ++i) {
        async(named("speedup work"), [] { work(1000); }).get();
        if (!point.empty()) progress(point);
      }
    });
  }
  output both{testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  return both;
}

TEST(speedup, without_progress_points_a_line_says_how_to_add_one) {
  const output o = output_of(options_with("1"), "", 1);
  EXPECT_THAT(o.err, HasSubstr("no progress point was passed: call plx::progress(\"step\")"));
  EXPECT_THAT(o.err, HasSubstr("--plx:progress=TYPE"));
  EXPECT_EQ(o.out, "");
  EXPECT_FALSE(std::filesystem::exists(folder() + "/speedup.csv"));
}

TEST(speedup, a_short_run_gets_the_time_that_it_needs) {
  const output o = output_of(options_with("1"), "step", 2);
  EXPECT_THAT(o.err, HasSubstr("the run was too short: 0 of 6 rounds, 2 progress points; intervals need about "));
}

TEST(speedup, wrong_names_get_the_nearest) {
  EXPECT_THAT(output_of(options_with("speedup wrok"), "step", 2).err,
              HasSubstr("speedup=speedup wrok: no task of that type ran; did you mean 'speedup work'?"));
  EXPECT_THAT(output_of(options_with("1", "stepp"), "step", 2).err,
              HasSubstr("progress=stepp: neither a progress point nor a task type of this run; did you mean 'step'?"));
  EXPECT_THAT(output_of(options_with("1", "speedup wrok"), "", 2).err, HasSubstr("did you mean 'speedup work'?"));
}

TEST(speedup, tasks_of_a_type_count_as_progress) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    runtime rt(options_with("speedup beside", "speedup beside"));
    const auto& s = speedups_of(rt);
    rt.run([&] { ASSERT_TRUE(comes_true([&] { return step(), s.report().experiments >= 3; }, [] {})); });
    EXPECT_EQ(s.report().point, "speedup beside");
  }
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

// The thread outside passes them, whose virtual time is that of the last result that it has read.
TEST(speedup, progress_of_a_thread_outside_the_runtime_counts) {
  double inserted_s = -1;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    runtime rt(options_with("speedup ch*", {}, 1));
    const auto& s = speedups_of(rt);
    const auto chain = [] {  // no sleep, of which the faster program takes more
      for (int i = 0; i < 3; ++i) async(named("speedup chain"), [] { work(30000); }).get();
    };
    ASSERT_TRUE(comes_true([&] { return rt.run(chain), progress("step"), s.report().experiments >= 3; }, [] {}));
    inserted_s = s.report().inserted_s;
  }
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  EXPECT_GE(inserted_s, 0);
  EXPECT_LT(inserted_s, 1e-4) << "one worker owes nothing";
}

TEST(speedup, progress_points_go_to_one_runtime) {
  runtime first(options_with("1"));
  EXPECT_THAT(output_of(options_with("1"), "step", 2).err, HasSubstr("progress points go to another runtime"));
}

TEST(speedup, a_runtime_that_counts_tasks_leaves_progress_points_to_others) {
  runtime first(options_with("1", "speedup counted"));
  EXPECT_THAT(output_of(options_with("1", "speedup wrok"), "", 2).err,
              HasSubstr("progress=speedup wrok: no task of that type ran, and progress points go to another runtime of "
                        "this process: expected speedup for one of them; did you mean 'speedup work'?"));
  first.run(named("speedup counted"), [] {});
  ASSERT_TRUE(comes_true([&] { return speedups_of(first).report().point == "speedup counted"; }));
  EXPECT_THAT(output_of(options_with("1"), "step", 2).err, HasSubstr("2 progress points; intervals need about"));
  progress("speedup counted");  // no second count
  EXPECT_THAT(speedups_of(first).report().problems.back(), HasSubstr(", 1 progress point;"));
}

// Virtual time of one runtime would be the longest path of the other.
TEST(speedup, a_poller_that_submits_to_another_runtime_gives_it_no_path) {
  const ticks begin = now_ticks();
  run_quietly(1, [&](runtime& rt) {
    runtime other({.workers = 1, .bind = false});
    other.recorder().paths(true);
    struct poll_state {
      runtime& to;
      std::atomic<bool> waits{false};
      promise<void> answer{};
    } s{other};
    const std::uint64_t poller = rt.add_poller(
        [](void* p) {
          auto& state = *static_cast<poll_state*>(p);
          if (detail::this_worker() == nullptr || !state.waits.exchange(false)) return poll_result::pending;
          state.to.get_executor().post([&state] { state.answer.set_value(); });
          return poll_result::progressed;
        },
        &s);
    rt.run([&] {
      future<void> f = s.answer.get_future();
      s.waits = true;
      f.get();
    });
    rt.remove_poller(poller);
    other.run([] {});  // the first task has ended
    EXPECT_LE(other.recorder().span_s(), seconds(now_ticks() - begin));
    other.recorder().paths(false);
  });
}

TEST(speedup, refused_where_delays_mean_nothing) {
  runtime_options deterministic = options_with("1");
  deterministic.deterministic = true;
  EXPECT_THAT(output_of(deterministic, "step", 2).err, HasSubstr("speedup has no effect in the deterministic mode"));
  auto of_job = std::make_shared<probe::settings>();
  of_job->speedup = "1";
  of_job->localities = 4;
  EXPECT_THAT(detail::speedups::refusal({.measure = of_job}), HasSubstr("a job of 4 processes"));
  EXPECT_EQ(detail::speedups::refusal(options_with("")), "");
}

}  // namespace
}  // namespace plx
