#include "attach/core/thread_row.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "probe/record/recorder.hpp"

namespace plx::probe {
namespace {

const name_id outer = register_name("row/outer"), inner = register_name("row/inner");

struct Row : testing::Test {
  recorder rec{1};
  thread_row row{0, rec.worker(0)};
  void SetUp() override { rec.trace(true, 4096); }
  [[nodiscard]] std::uint64_t exclusive(name_id id) const { return time(*rec.worker(0).name(id)); }
  [[nodiscard]] std::uint64_t inclusive(name_id id) const { return time(*row.inclusive().name(id)); }
  [[nodiscard]] std::uint64_t calls(name_id id) const { return rec.worker(0).name(id)->calls; }
  static std::uint64_t time(const detail::name_cell& c) { return c.time + c.open_time; }
  /// Slices in order, without overlap.
  void check_pieces() {
    const trace_data t = rec.collect_trace();
    ticks end = 0;
    for (const trace_slice& s : t.workers[0]) {
      EXPECT_LE(end, s.begin);
      EXPECT_LE(s.begin, s.end);
      end = s.end;
    }
  }
};

TEST_F(Row, NestedTimersHaveExclusiveAndInclusiveTimes) {
  row.start(outer, no_key, 100);
  row.start(inner, no_key, 110);
  EXPECT_TRUE(row.stop(inner, 140));
  row.start(inner, no_key, 150);
  EXPECT_TRUE(row.stop(inner, 151));
  EXPECT_TRUE(row.stop(outer, 200));
  EXPECT_EQ(exclusive(inner), 31u);
  EXPECT_EQ(exclusive(outer), 100u - 31u);
  EXPECT_EQ(inclusive(outer), 100u);
  EXPECT_EQ(inclusive(inner), 31u);
  EXPECT_EQ(calls(outer), 1u);
  EXPECT_EQ(calls(inner), 2u);
  check_pieces();
}

TEST_F(Row, AWaitThatACutDelaysBeginsAtTheCut) {
  row.start(outer, no_key, 100);
  row.cut(150);
  row.begin_wait(130);
  row.cut(160);
  EXPECT_EQ(row.end_wait(190), 40u);
  row.begin_wait(195);
  EXPECT_EQ(row.end_wait(200), 5u);
  row.stop(outer, 210);
  EXPECT_EQ(row.waited(), 45u);
  EXPECT_EQ(exclusive(outer), 110u - 45u);
  check_pieces();
}

TEST_F(Row, AWaitBeginsWhenItWasAskedForIfThatIsKnown) {
  row.begin_wait(130, 110);
  EXPECT_EQ(row.end_wait(150), 40u);
  row.begin_wait(170, 0);  // without an open timer that would limit it
  EXPECT_EQ(row.end_wait(200), 30u);
  EXPECT_EQ(row.waited(), 70u);
}

TEST_F(Row, TheInnermostTimerIsKnownWithinWaits) {
  EXPECT_EQ(row.innermost(), unnamed);
  row.start(outer, no_key, 100);
  row.begin_wait(110);
  EXPECT_EQ(row.innermost(), outer);
  row.start(inner, no_key, 120);
  EXPECT_EQ(row.innermost(), inner);
  row.stop(inner, 130);
  EXPECT_EQ(row.innermost(), outer);
  row.start(inner, no_key, 140);  // never stopped
  row.end_wait(150);
  EXPECT_EQ(row.innermost(), outer);
  row.start(inner, no_key, 160);
  paused_timer paused;
  ASSERT_TRUE(row.yield(paused, 170));
  EXPECT_EQ(row.innermost(), outer);
  row.resume(paused, 180);
  EXPECT_EQ(row.innermost(), inner);
  row.close(190);
  EXPECT_EQ(row.innermost(), unnamed);
}

TEST_F(Row, TheInnermostTimerCanBeReadWhileAnotherThreadClosesTheRow) {
  std::atomic<bool> begun{false};
  for (int i = 0; i < 20; ++i) row.start(i % 2 == 0 ? outer : inner, no_key, 100);
  std::thread samples([&] {  // as the signal handler of the row's thread
    name_id name = outer;
    for (bool first = true; name != unnamed; first = false) {
      name = row.innermost();
      EXPECT_TRUE(name == outer || name == inner || name == unnamed);
      if (first) begun = true;
    }
  });
  while (!begun) std::this_thread::yield();
  row.close(200);
  samples.join();
}

TEST_F(Row, ATraceHasTheEnclosingTimer) {
  row.start(outer, no_key, 0);
  row.start(inner, no_key, 10);
  row.begin_wait(11);
  row.end_wait(12);
  row.stop(inner, 20);
  row.stop(outer, 30);
  const trace_data t = rec.collect_trace();
  ASSERT_EQ(t.workers[0].size(), 4u);  // outer, inner, inner again, outer again
  const task_id around = t.workers[0][0].id, within = t.workers[0][1].id;
  EXPECT_NE(around, within);
  EXPECT_EQ(t.workers[0][2].id, within);
  EXPECT_EQ(t.workers[0][3].id, around);
  ASSERT_EQ(t.edges.size(), 1u);
  EXPECT_EQ(t.edges[0].from, around);
  EXPECT_EQ(t.edges[0].to, within);
  EXPECT_EQ(t.edges[0].when, 10u);  // the time of its begin, by which readers find the slice that it interrupted
}

TEST_F(Row, ARecursiveTimerIsCountedOnceInclusively) {
  row.start(outer, no_key, 0);
  row.start(outer, no_key, 10);
  row.start(inner, no_key, 20);
  row.start(outer, no_key, 30);
  row.stop(outer, 40);
  row.stop(inner, 50);
  row.stop(outer, 60);
  row.stop(outer, 100);
  EXPECT_EQ(calls(outer), 3u);
  EXPECT_EQ(inclusive(outer), 100u);
  EXPECT_EQ(exclusive(outer), 80u);
  EXPECT_EQ(exclusive(inner), 20u);
  check_pieces();
}

TEST_F(Row, AWaitIsNotWork) {
  row.begin_thread(0);
  row.start(outer, no_key, 0);
  EXPECT_TRUE(row.begin_wait(10));
  EXPECT_FALSE(row.begin_wait(12));  // nested in the other one
  EXPECT_EQ(row.end_wait(70), 60u);
  row.stop(outer, 100);
  EXPECT_EQ(exclusive(outer), 40u);
  EXPECT_EQ(inclusive(outer), 100u);
  EXPECT_EQ(rec.worker(0).idle_time(), 60u);
  EXPECT_EQ(row.waited(), 60u);
  check_pieces();
}

TEST_F(Row, TimersWithinAWaitAreWork) {
  row.start(outer, no_key, 0);
  row.begin_wait(10);
  row.start(inner, no_key, 20);  // a task that runs while its thread waits at a barrier
  row.stop(inner, 50);
  EXPECT_EQ(row.end_wait(70), 30u);
  row.stop(outer, 70);
  EXPECT_EQ(exclusive(inner), 30u);
  EXPECT_EQ(exclusive(outer), 10u);
  check_pieces();
}

TEST_F(Row, AYieldedTimerIsOneCallAndContinuesInAnotherThread) {
  recorder two(1);
  thread_row other(0, two.worker(0));
  row.start(outer, no_key, 0);
  row.start(inner, no_key, 10);
  paused_timer t;
  ASSERT_TRUE(row.yield(t, 30));
  row.stop(outer, 40);
  other.resume(t, 100);
  EXPECT_TRUE(other.stop(inner, 105));
  const auto* here = rec.worker(0).name(inner);
  const auto* there = two.worker(0).name(inner);
  EXPECT_EQ(here->calls + there->calls, 1u);
  EXPECT_EQ(time(*here) + time(*there), 25u);
  EXPECT_EQ(time(*other.inclusive().name(inner)), 25u);
  EXPECT_EQ(exclusive(outer), 20u);
}

TEST_F(Row, MismatchedStopsAreCountedAndRepaired) {
  row.start(outer, no_key, 0);
  row.start(inner, no_key, 10);
  EXPECT_FALSE(row.stop(outer, 20));  // stops inner as well
  EXPECT_EQ(row.depth(), 0u);
  EXPECT_FALSE(row.stop(outer, 30));  // not started
  EXPECT_EQ(row.misfits(), 2u);
  EXPECT_EQ(calls(inner), 1u);
  EXPECT_EQ(exclusive(outer) + exclusive(inner), 20u);
}

TEST_F(Row, CuttingShowsOpenTimers) {
  row.start(outer, no_key, 0);
  row.cut(10);
  EXPECT_EQ(exclusive(outer), 10u);
  EXPECT_EQ(calls(outer), 0u);
  row.cut(10);
  row.stop(outer, 15);
  EXPECT_EQ(exclusive(outer), 15u);
  EXPECT_EQ(calls(outer), 1u);
  check_pieces();
}

TEST_F(Row, AnyThreadCanReadTheTimeWaited) {
  constexpr int waits = 10'000;
  std::thread owner([this] {
    row.start(outer, no_key, 0);
    for (ticks i = 0; i < waits; ++i) {
      row.begin_wait(10 * i + 1);
      row.end_wait(10 * i + 4);
    }
    row.stop(outer, 10 * waits);
  });
  for (ticks before = 0, now = 0; now < 3 * waits; before = now) {
    now = row.waited();
    EXPECT_LE(before, now);
  }
  owner.join();
  EXPECT_EQ(row.waited(), 3u * waits);
  EXPECT_EQ(exclusive(outer), 7u * waits);
}

}  // namespace
}  // namespace plx::probe
