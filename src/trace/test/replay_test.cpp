#include "trace/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

using testing::Contains;

replayed replay_of(const trace_data& d, const replay_changes& c = {}) { return replay_model(trace_graph(d), d).run(c); }
double time_of(const trace_data& d, const replay_changes& c = {}) { return replay_of(d, c).time; }

std::vector<double> factor_of_name(std::string_view name, double f) {
  std::vector<double> factors(register_name(name) + std::size_t{1}, 1.0);
  factors.back() = f;
  return factors;
}

/// "main" creates `n` tasks of `length` and waits for them, all on one worker.
trace_builder fork_join(unsigned n, ticks length) {
  trace_builder b(1);
  const task_id end = join_bit | 1;
  b.piece(0, 1, "rp main", 0, 10, false);
  ticks now = 10;
  for (unsigned i = 0; i < n; ++i, now += length) {
    b.task(0, 2 + i, "rp part", now, now + length).ready(10);
    b.edge(1, 2 + i, 10).edge(2 + i, end, now + length);
  }
  b.piece(0, 1, "rp main", now, now + 20, true, true).ready(now);
  b.edge(end, 1, now);
  return b;
}

TEST(ReplayModel, AnEmptyTraceTakesNoTime) {
  const replayed r = replay_of(trace_data{}, {.workers = 3});
  EXPECT_EQ(r.time, 0);
  EXPECT_EQ(r.unfinished, 0u);
}

TEST(ReplayModel, AForkJoinOnAnyNumberOfWorkers) {
  const trace_data d = fork_join(6, 100).data;
  EXPECT_EQ(time_of(d), 630) << "as recorded";
  EXPECT_EQ(time_of(d, {.workers = 2}), 10 + 300 + 20);
  EXPECT_EQ(time_of(d, {.workers = 4}), 10 + 200 + 20);
  EXPECT_EQ(time_of(d, {.workers = 6}), 10 + 100 + 20);
  EXPECT_EQ(time_of(d, {.workers = 60}), 10 + 100 + 20);
  EXPECT_EQ(time_of(d, {.workers = 3, .factors = factor_of_name("rp part", 0.5)}), 10 + 100 + 20);
  EXPECT_EQ(time_of(d, {.factors = factor_of_name("rp main", 3)}), 30 + 600 + 60);
  const replayed r = replay_of(d, {.workers = 2});
  EXPECT_EQ(r.work, 630);
  EXPECT_EQ(r.span, 130);
  EXPECT_EQ(r.lower, 315);
  EXPECT_EQ(r.upper, 315 + 130);
}

TEST(ReplayModel, AChainIsNotShortenedByWorkers) {
  trace_builder b(2);
  for (unsigned i = 0; i < 10; ++i) {
    b.task(i % 2, 1 + i, i % 2 == 0 ? "rp even" : "rp odd", 100 * i, 100 * i + 100);
    if (i > 0) b.ready(100 * i).edge(i, 1 + i, 100 * i);
  }
  EXPECT_EQ(time_of(b.data, {.workers = 1}), 1000);
  EXPECT_EQ(time_of(b.data, {.workers = 8}), 1000);
  EXPECT_EQ(time_of(b.data, {.factors = factor_of_name("rp odd", 0.5)}), 750);
}

/// A child that is created in the middle of its parent can begin there.
TEST(ReplayModel, ASliceReleasesOthersAtTheRecordedMoment) {
  trace_builder b(1);
  b.task(0, 1, "rp parent", 0, 100).task(0, 2, "rp child", 100, 180).ready(30);
  b.edge(1, 2, 30);
  EXPECT_EQ(time_of(b.data), 180);
  EXPECT_EQ(time_of(b.data, {.workers = 2}), 30 + 80);
  EXPECT_EQ(time_of(b.data, {.workers = 2, .factors = factor_of_name("rp parent", 2)}), 200);
  EXPECT_EQ(time_of(b.data, {.workers = 2, .factors = factor_of_name("rp parent", 1.5)}), 150);
}

TEST(ReplayModel, WaitsForWhatIsNoTaskKeepTheirTime) {
  trace_builder b(1);
  b.piece(0, 1, "rp sleeper", 0, 10, false).task(0, 2, "rp other", 20, 30).ready(20);
  b.piece(0, 1, "rp sleeper", 60, 80, true, true).ready(60);
  EXPECT_EQ(time_of(b.data), 80);
  EXPECT_EQ(time_of(b.data, {.factors = factor_of_name("rp sleeper", 0.5)}), 5 + 50 + 10);
  EXPECT_EQ(replay_of(b.data).span, 80) << "no number of workers shortens it";
}

// main() calls run() twice, and submits two tasks the second time: its own time between the calls stays as it was.
TEST(ReplayModel, TasksFromOutsideFollowThoseBefore) {
  trace_builder b = fork_join(6, 100);  // until 630
  b.task(0, 100, "rp second", 700, 800).ready(700);
  b.task(0, 101, "rp second", 800, 850).ready(705);
  EXPECT_EQ(time_of(b.data), 850);
  EXPECT_EQ(time_of(b.data, {.factors = factor_of_name("rp part", 0.5)}), 850 - 300);
  EXPECT_EQ(time_of(b.data, {.workers = 2}), 330 + 70 + 100) << "the second calls side by side";
  EXPECT_EQ(replay_of(b.data).span, 130 + 70 + 100);
}

// Slices of no length at one moment, of which the first waits for the second: that one does not follow it as well.
TEST(ReplayModel, TasksFromOutsideFormNoCircles) {
  trace_builder b(2);
  b.task(0, 1, "rp waits", 20, 20).edge(2, 1, 20);
  b.task(1, 2, "rp outside", 20, 20).ready(20);
  b.task(1, 3, "rp outside", 20, 50).ready(20);
  const replayed r = replay_of(b.data);
  EXPECT_EQ(r.unfinished, 0u);
  EXPECT_EQ(r.time, 30);
}

/// Each task works, then works under a lock: recorded on one worker, without a wait.
trace_builder locked_tasks(unsigned n, ticks before, ticks inside) {
  trace_builder b(1);
  b.task(0, 1, "rp main", 0, 10);
  ticks now = 10;
  for (unsigned i = 0; i < n; ++i, now += before + inside) {
    b.task(0, 2 + i, "rp locked", now, now + before + inside).ready(10).edge(1, 2 + i, 10);
    b.data.locks.push_back(
        {.task = 2 + i, .taken = now + before, .released = now + before + inside, .object = 77, .waits = 0});
  }
  return b;
}

TEST(ReplayModel, ALockThatWasNeverWaitedForLimitsMoreWorkers) {
  const trace_data d = locked_tasks(8, 10, 40).data;
  EXPECT_EQ(time_of(d), 10 + 8 * 50);
  EXPECT_EQ(time_of(d, {.workers = 8}), 10 + 10 + 8 * 40) << "one after another under the lock";
  EXPECT_EQ(time_of(d, {.workers = 8, .no_lock = {true}}), 10 + 50);
  EXPECT_EQ(time_of(d, {.workers = 8, .factors = factor_of_name("rp locked", 0.5)}), 10 + 5 + 8 * 20);
  const replay_model m(trace_graph(d), d);
  ASSERT_EQ(m.locks().size(), 1u);
  EXPECT_EQ(m.locks()[0].times, 8u);
  EXPECT_EQ(m.locks()[0].held, 320);
  const replayed r = m.run({.workers = 8});
  EXPECT_EQ(r.lower, 320) << "what the lock alone takes";
  EXPECT_GE(r.upper, r.time);
}

/// Two tasks that need a lock: the second one waits for the first, and resumes when that one releases it.
TEST(ReplayModel, ARecordedWaitForALockIsReplacedByTheLock) {
  trace_builder b(2);
  b.task(0, 1, "rp first", 0, 100);
  b.piece(1, 2, "rp second", 0, 20, false).piece(1, 2, "rp second", 60, 100, true, true).ready(60);
  b.edge(1, 2, 60);
  b.data.locks = {{.task = 1, .taken = 10, .released = 60, .object = 5, .waits = 0},
                  {.task = 2, .taken = 60, .released = 90, .object = 5, .waits = 1}};
  EXPECT_EQ(time_of(b.data), 100);
  EXPECT_EQ(time_of(b.data, {.factors = factor_of_name("rp first", 0.5)}), 30 + 40);
  EXPECT_EQ(time_of(b.data, {.no_lock = {true}}), 100);
  EXPECT_EQ(time_of(b.data, {.factors = factor_of_name("rp first", 0.1), .no_lock = {true}}), 60);
  EXPECT_EQ(time_of(b.data, {.workers = 1}), 160) << "the only worker runs the rest of the first meanwhile";
}

TEST(ReplayModel, AFixedWorkerRunsItsTasksAlone) {
  trace_builder b(2);
  b.task(0, 1, "rp main", 0, 10);
  for (unsigned i = 0; i < 4; ++i) {
    b.task(0, 2 + i, "rp bound", 10 + 50 * i, 60 + 50 * i).ready(10).edge(1, 2 + i, 10);
    b.data.placements.push_back({.task = 2 + i, .worker = 1});
  }
  const replayed r = replay_of(b.data, {.workers = 4});
  EXPECT_EQ(r.time, 210);
  EXPECT_EQ(r.lower, 200);
  b.data.placements.clear();
  EXPECT_EQ(time_of(b.data, {.workers = 4}), 60);
}

TEST(ReplayModel, APriorityBringsTheCriticalPathForward) {
  // Two long tasks, then one that a chain depends on: with the priority the chain runs beside the long ones.
  trace_builder b(1);
  b.task(0, 1, "rp main", 0, 10);
  b.task(0, 2, "rp chain", 10, 110).ready(10).edge(1, 2, 8);
  b.task(0, 3, "rp after", 110, 210).ready(110).edge(2, 3, 110);
  for (unsigned i = 0; i < 2; ++i)
    b.task(0, 4 + i, "rp long", 210 + 100 * i, 310 + 100 * i).ready(10).edge(1, 4 + i, 9);
  std::vector<int> high(register_name("rp chain") + std::size_t{1}, -1);
  high.back() = 1;
  std::vector<int> low(register_name("rp chain") + std::size_t{1}, -1);
  low.back() = 2;
  EXPECT_EQ(time_of(b.data, {.workers = 2, .priorities = high}), 210);
  EXPECT_EQ(time_of(b.data, {.workers = 2, .priorities = low}), 310);
}

TEST(ReplayModel, MessagesAndWorkersBelongToLocalities) {
  trace_builder b(2);
  b.task(0, 1, "rp caller", 0, 50).task(1, 2, "rp action", 80, 180).ready(80).edge(1, 2, 20);
  trace_job job;
  job.localities.resize(2);
  for (unsigned l = 0; l < 2; ++l) job.localities[l].first_worker = l, job.localities[l].workers = 1;
  const replay_model m(trace_graph(b.data), b.data, &job);
  EXPECT_TRUE(m.has_messages());
  EXPECT_EQ(m.run().time, 180);
  EXPECT_EQ(m.run({.no_messages = true}).time, 120) << "it begins where it was sent";
  EXPECT_EQ(m.run({.workers = 7}).time, 180);
}

TEST(ReplayModel, OperationsOfADeviceNeedNoWorker) {
  trace_builder b(2);
  b.device(1, 0, "stream");
  b.task(0, 1, "rp launch", 0, 10).task(0, 2, "rp host", 10, 110).ready(10).edge(1, 2, 10);
  b.task(1, 3, "rp kernel", 10, 90).ready(10).edge(1, 3, 10);
  const replayed r = replay_of(b.data);
  EXPECT_EQ(r.time, 110);
  EXPECT_EQ(r.work, 110);
  EXPECT_EQ(time_of(b.data, {.factors = factor_of_name("rp kernel", 3)}), 250);
}

/// A graph whose edges contradict the order in which a lock was taken: no endless loop.
TEST(ReplayModel, ACircleOfWaitsIsReported) {
  trace_builder b(2);
  b.task(0, 1, "rp holds", 0, 50).task(1, 2, "rp needs", 0, 40);
  b.piece(0, 1, "rp holds", 60, 70, true, true).ready(60).edge(2, 1, 40);
  b.data.workers[0][0].finished = false;
  b.data.locks = {{.task = 1, .taken = 5, .released = 65, .object = 5, .waits = 0},
                  {.task = 2, .taken = 10, .released = 20, .object = 5, .waits = 0}};
  const replayed r = replay_of(b.data);
  EXPECT_GT(r.unfinished, 0u);
  EXPECT_EQ(replay_of(b.data, {.no_lock = {true}}).unfinished, 0u);
}

struct small_graph {
  std::vector<unsigned> length;
  std::vector<std::vector<unsigned>> needs;  // earlier tasks
};

/// The times of all schedules in which no worker is idle while a task is ready, by trying all of them.
class all_greedy_schedules {
 public:
  all_greedy_schedules(const small_graph& g, unsigned workers)
      : g_(g), ends_(g.length.size(), not_run), free_(workers, 0) {
    next(0);
  }
  std::set<unsigned> times;

 private:
  static constexpr unsigned not_run = ~0u;

  void next(unsigned now) {
    std::vector<unsigned> ready;
    for (unsigned t = 0; t < ends_.size(); ++t) {
      if (ends_[t] != not_run) continue;
      bool all = true;
      for (const unsigned n : g_.needs[t]) all = all && ends_[n] <= now;
      if (all) ready.push_back(t);
    }
    const auto worker = std::find_if(free_.begin(), free_.end(), [&](unsigned f) { return f <= now; });
    if (!ready.empty() && worker != free_.end()) {
      const std::size_t w = static_cast<std::size_t>(worker - free_.begin());
      for (const unsigned t : ready) {
        const unsigned before = free_[w];
        ends_[t] = free_[w] = now + g_.length[t];
        next(now);
        ends_[t] = not_run, free_[w] = before;
      }
      return;
    }
    unsigned later = not_run, last = 0;
    for (const unsigned e : ends_) {
      if (e != not_run && e > now) later = std::min(later, e);
      last = std::max(last, e == not_run ? 0 : e);
    }
    if (later != not_run) return next(later);
    times.insert(last);
  }

  const small_graph& g_;
  std::vector<unsigned> ends_, free_;
};

/// The first task releases those without dependencies; all run one after another on one worker.
trace_data recorded(const small_graph& g) {
  trace_builder b(1);
  std::vector<ticks> end;
  ticks now = 0;
  for (unsigned t = 0; t < g.length.size(); ++t, now = end.back()) {
    end.push_back(now + g.length[t]);
    b.task(0, t + 1, "rp any", now, end.back());
    ticks ready = 0;
    for (const unsigned n : g.needs[t]) ready = std::max(ready, end[n]);
    if (t > 0) b.ready(ready);
    for (const unsigned n : g.needs[t]) b.edge(n + 1, t + 1, end[n]);
  }
  return b.data;
}

TEST(ReplayModel, IsAGreedyScheduleOfTheGraph) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    small_graph g;
    for (unsigned t = 0; t < 7; ++t) {
      g.length.push_back(1 + random() % 9);
      g.needs.emplace_back();
      for (unsigned n = 1; n < t; ++n)
        if (random() % 4 == 0) g.needs[t].push_back(n);
      if (t > 0 && g.needs[t].empty()) g.needs[t].push_back(0);
    }
    const trace_data d = recorded(g);
    for (unsigned workers = 1; workers <= 3; ++workers) {
      const replayed r = replay_of(d, {.workers = workers});
      EXPECT_THAT(all_greedy_schedules(g, workers).times, Contains(static_cast<unsigned>(r.time)));
      EXPECT_GE(r.time, r.lower);
      EXPECT_LE(r.time, r.upper);
      EXPECT_EQ(r.unfinished, 0u);
    }
  }
}

}  // namespace
}  // namespace plx::probe
