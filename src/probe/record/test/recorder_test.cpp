#include "probe/record/recorder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using namespace plx::probe;

const double tick_s = 1 / plx::ticks_per_second();

const task_statistics& find(const std::vector<task_statistics>& all, name_id id) {
  for (const task_statistics& t : all)
    if (t.id == id) return t;
  static const task_statistics none;
  return none;
}

/// Durations of 100 and 300 ticks, equally often: mean 200, standard deviation 100.
TEST(Recorder, StatisticsOfKnownLengths) {
  recorder r(2);
  const name_id name = register_name("recorder_test/known");
  for (unsigned i = 0; i < 100; ++i)
    r.worker(i % 2).record({.name = name, .begin = 1000, .end = 1000u + (i % 4 < 2 ? 100u : 300u)});
  const auto tasks = r.tasks();
  ASSERT_EQ(tasks.size(), 1u);
  const task_statistics& t = tasks[0];
  EXPECT_EQ(t.name, "recorder_test/known");
  EXPECT_EQ(t.calls, 100u);
  EXPECT_EQ(t.slices, 100u);
  EXPECT_DOUBLE_EQ(t.total_s, 20000 * tick_s);
  EXPECT_DOUBLE_EQ(t.mean_s, 200 * tick_s);
  EXPECT_DOUBLE_EQ(t.min_s, 100 * tick_s);
  EXPECT_DOUBLE_EQ(t.max_s, 300 * tick_s);
  EXPECT_NEAR(t.stddev_s, 100 * tick_s, 1e-9 * t.mean_s);
}

/// Starts on worker 0, is suspended, and ends on worker 1: each worker has its own share of the time, the task the sum.
TEST(Recorder, ATaskThatMoves) {
  recorder r(2);
  const name_id name = register_name("recorder_test/moves");
  r.worker(0).record({.name = name, .key = 5, .begin = 0, .end = 1000, .finished = false});
  EXPECT_DOUBLE_EQ(r.tasks()[0].total_s, 1000 * tick_s);
  EXPECT_EQ(r.tasks()[0].calls, 0u);
  r.worker(1).record({.name = name, .key = 5, .begin = 0, .end = 200, .finished = true, .earlier = 1000});
  const auto tasks = r.tasks();
  EXPECT_EQ(tasks[0].calls, 1u);
  EXPECT_EQ(tasks[0].slices, 2u);
  EXPECT_DOUBLE_EQ(tasks[0].total_s, 1200 * tick_s);
  EXPECT_DOUBLE_EQ(tasks[0].mean_s, 1200 * tick_s);
  EXPECT_DOUBLE_EQ(tasks[0].min_s, 1200 * tick_s);
  EXPECT_DOUBLE_EQ(r.times(0).exec_s, 1000 * tick_s);
  EXPECT_DOUBLE_EQ(r.times(1).exec_s, 200 * tick_s);
  const auto costs = r.costs();
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_DOUBLE_EQ(costs[0].seconds, 1200 * tick_s);
  EXPECT_EQ(costs[0].calls, 1u);
}

TEST(Recorder, CostsCountFromTheLastReset) {
  recorder r(2);
  for (std::uint64_t key = 0; key < 10; ++key) r.worker(key % 2).record({.key = key, .begin = 0, .end = 100});
  r.worker(1).record({.key = 0, .begin = 0, .end = 50});
  ASSERT_EQ(r.costs().size(), 10u);
  EXPECT_DOUBLE_EQ(r.costs()[0].seconds, 150 * tick_s);
  r.reset_costs();
  EXPECT_TRUE(r.costs().empty());
  r.worker(0).record({.key = 7, .begin = 0, .end = 30});
  const auto costs = r.costs();
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].key, 7u);
  EXPECT_DOUBLE_EQ(costs[0].seconds, 30 * tick_s);
  EXPECT_EQ(costs[0].calls, 1u);
}

TEST(Recorder, WorkerTimes) {
  recorder r(1);
  r.worker(0).record({.begin = 0, .end = 10});
  r.worker(0).idle(10, 30);
  r.worker(0).overhead(5);
  r.worker(0).background(7);
  const worker_times t = r.times(0);
  EXPECT_DOUBLE_EQ(t.exec_s, 10 * tick_s);
  EXPECT_DOUBLE_EQ(t.idle_s, 20 * tick_s);
  EXPECT_DOUBLE_EQ(t.overhead_s, 5 * tick_s);
  EXPECT_DOUBLE_EQ(t.background_s, 7 * tick_s);
  EXPECT_EQ(t.tasks, 1u);
}

TEST(Recorder, OffRecordsNothing) {
  recorder r(1);
  r.statistics(false);
  r.costs(false);
  r.worker(0).record({.key = 1, .begin = 0, .end = 10});
  EXPECT_TRUE(r.tasks().empty());
  EXPECT_TRUE(r.costs().empty());
  EXPECT_EQ(r.measurement_cost(), 0.0);
}

TEST(Recorder, MeasurementCostIsPerRecord) {
  recorder r(1);
  EXPECT_EQ(r.measurement_cost(), 0.0);
  for (int i = 0; i < 1000; ++i) r.worker(0).record({.begin = 0, .end = 1'000'000});
  const double cost = r.measurement_cost();
  EXPECT_GT(cost, 0.0);
  r.worker(0).idle(0, 1'000'000'000);  // the same time again, without a record
  EXPECT_NEAR(r.measurement_cost(), cost / 2, 1e-3 * cost);
}

TEST(Recorder, MeasurementCostCountsTheBackground) {
  recorder r(1);
  r.worker(0).idle(0, plx::ticks_from(2.0));
  EXPECT_EQ(r.measurement_cost(), 0.0);
  r.set_background(0.5);
  EXPECT_NEAR(r.measurement_cost(), 0.25, 1e-6);
}

TEST(Recorder, TraceCountsWhatItKeepsAndLoses) {
  recorder r(2);
  r.trace(true, 64);
  for (int i = 0; i < 100; ++i) r.worker(0).record({.begin = 1, .end = 2});
  r.worker(1).record({.begin = 1, .end = 2});
  r.drain();
  EXPECT_EQ(r.traced(), 65u);
  EXPECT_EQ(r.trace_lost(), 36u);
  r.trace(false);
  r.worker(1).record({.begin = 1, .end = 2});
  r.drain();
  EXPECT_EQ(r.traced(), 65u);
}

/// All functions a monitor may call, while workers record; the final numbers are exact.
TEST(Recorder, MonitorsWhileWorkersRecord) {
  recorder r(2);
  constexpr std::uint64_t n = 20'000;
  const name_id name = register_name("recorder_test/monitored");
  std::atomic<int> running{2};
  std::vector<std::thread> workers;
  for (unsigned w = 0; w < 2; ++w) {
    workers.emplace_back([&, w] {
      for (std::uint64_t i = 0; i < n; ++i)
        r.worker(w).record({.name = name, .key = i % 100, .begin = i, .end = i + 10, .finished = true});
      --running;
    });
  }
  int round = 0;
  do {
    r.trace(round % 2 == 0, 256);
    for (const task_statistics& t : r.tasks()) EXPECT_LE(t.calls, 2 * n);
    EXPECT_LE(r.costs().size(), 100u);
    r.drain();
    EXPECT_LE(r.times(0).tasks, n);
    EXPECT_GE(r.measurement_cost(), 0.0);
    if (++round == 3) r.reset_costs();
  } while (running > 0);
  for (auto& w : workers) w.join();
  EXPECT_EQ(find(r.tasks(), name).calls, 2 * n);
  EXPECT_DOUBLE_EQ(find(r.tasks(), name).total_s, 20 * n * tick_s);
}

// When a task ends, its earlier time moves from one sum to another: a reader may count it twice, but never misses it.
TEST(Recorder, TimeIsCompleteWhileTasksEnd) {
  recorder r(2);
  constexpr plx::ticks earlier = 1000, last = 10;
  constexpr std::uint64_t enough = 200'000;
  const name_id name = register_name("recorder_test/ends");
  std::atomic<std::uint64_t> ended{0};
  std::thread tasks([&] {  // that begin on worker 0 and end on worker 1
    for (std::uint64_t n = 1; n <= enough; ++n) {
      r.worker(0).record({.name = name, .begin = 0, .end = earlier, .finished = false});
      r.worker(1).record({.name = name, .begin = 0, .end = last, .finished = true, .earlier = earlier});
      ended.store(n, std::memory_order_release);
    }
  });
  bool complete = true;
  while (complete && ended < enough) {
    const double least = plx::seconds(last * ended);
    const double read = r.times(1).exec_s;
    complete = read >= least && read <= plx::seconds(last * (ended + 2) + earlier);
  }
  tasks.join();
  EXPECT_TRUE(complete);
}

TEST(Recorder, WorkersMayBeAddedWhileOthersRead) {
  recorder r(1, 64);
  r.trace(true, 256);
  const name_id name = register_name("recorder_test/added");
  std::atomic<bool> end{false};
  std::thread reader([&] {
    while (!end) {
      EXPECT_LE(r.tasks().size(), 1u);
      for (unsigned i = 0; i < r.worker_count(); ++i) EXPECT_LE(r.times(i).tasks, 1u);
      r.drain();
    }
  });
  while (worker_log* w = r.add_worker()) w->record({.name = name, .begin = 100, .end = 110});
  end = true;
  reader.join();
  EXPECT_EQ(r.worker_count(), 64u);
  EXPECT_EQ(find(r.tasks(), name).calls, 63u);
  r.name_worker(5, "reader");
  const trace_data all = r.collect_trace();
  ASSERT_EQ(all.workers.size(), 64u);
  EXPECT_EQ(all.workers[63].size(), 1u);  // it traces like the first one
  EXPECT_EQ(all.worker_names.at(5), "reader");
}

TEST(RecorderDeathTest, WorkersAreCounted) {
  recorder r(2);
  EXPECT_DEATH((void)r.worker(2), "i=2, worker_count\\(\\)=2");
}

}  // namespace
