#include "probe/monitor/task_counts.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "probe/record/work.hpp"

namespace {

using namespace plx::probe;
using plx::ticks;

/// Two events that the test counts itself.
struct counted_by_hand final : count_source {
  event_counts now{};
  bool readable = true;
  double counted = 1;

  bool read(event_counts& into) noexcept override {
    into = now;
    return readable;
  }
  bool read_from_outside(event_counts& into, double& share) const noexcept override {
    into = now;
    share = counted;
    return readable;
  }
};

struct TaskCounts : testing::Test {
  static constexpr std::size_t n_events = 2;
  recorder r{2};
  name_id fast = register_name("counts fast"), slow = register_name("counts slow");
  std::shared_ptr<counted_by_hand> source[2] = {std::make_shared<counted_by_hand>(),
                                                std::make_shared<counted_by_hand>()};
  task_counts counts{r, true, {{"first", 1}, {"second", 1e-9}}, {source[0], source[1]}};
  ticks now = 1000;  // the clock of worker 0

  void count(std::uint64_t first, std::uint64_t second = 0) {
    source[0]->now[0] += first;
    source[0]->now[1] += second;
  }
  void starts(name_id name) { r.worker(0).notify(task_event_kind::start, name, no_key, now); }
  void ends(name_id name, bool finished = true) {
    r.worker(0).record({.name = name, .begin = now, .end = now + 10, .finished = finished});
    now += 10;
  }
  /// A search for a task, or polling.
  void searches() {
    r.worker(0).overhead(10);
    now += 10;
  }
  std::uint64_t of(name_id name, std::size_t event = 0) const { return counts.sums().of(name).events[event]; }
};

TEST_F(TaskCounts, CountsOfASliceAreOfItsTypeAndTheRestOfNoTask) {
  count(3);
  searches();
  starts(fast);
  count(5, 100);
  ends(fast);
  starts(slow);  // at once: what is counted in between is its own
  count(7);
  ends(slow, false);  // suspended
  count(11);
  searches();
  starts(slow);
  count(13, 200);
  ends(slow);
  const counts_of_tasks all = counts.sums();
  EXPECT_EQ(all.of(fast).events[0], 5u);
  EXPECT_EQ(all.of(slow).events[0], 7u + 13u);
  EXPECT_EQ(all.no_task[0], 3u + 11u);
  EXPECT_EQ(all.total[0], 39u);
  EXPECT_EQ(all.of(fast).events[1], 100u);
  EXPECT_EQ(all.of(slow).events[1], 200u);
  EXPECT_EQ(all.no_task[1], 0u);
  EXPECT_EQ(all.events[1].text(1'500'000'000), "1.5");
}

TEST_F(TaskCounts, ASliceThatHasNotEndedCountsForNoTask) {
  starts(slow);
  count(5);
  EXPECT_EQ(of(slow), 0u);
  EXPECT_EQ(counts.sums().no_task[0], 5u);
  ends(slow);
  EXPECT_EQ(of(slow), 5u);
  EXPECT_EQ(counts.sums().no_task[0], 0u);
}

TEST_F(TaskCounts, ATracedSliceCountsToo) {
  r.trace(true, 1024);
  starts(fast);
  count(5);
  ends(fast);
  EXPECT_FALSE(r.worker(0).traces());  // the path that records a trace alone would not count
  r.trace(false);
  EXPECT_EQ(of(fast), 5u);
  EXPECT_EQ(r.traced(), 0u);
  r.drain();
  EXPECT_EQ(r.traced(), 1u);
}

TEST_F(TaskCounts, CountsOfABoundaryThatCannotBeReadBelongToTheNext) {
  starts(fast);
  count(5);
  source[0]->readable = false;
  ends(fast);
  source[0]->readable = true;
  starts(slow);
  count(7);
  ends(slow);
  const counts_of_tasks all = counts.sums();
  EXPECT_EQ(all.of(fast).events[0], 0u);
  EXPECT_EQ(all.of(slow).events[0], 12u);
  EXPECT_EQ(all.failed_reads, 1u);
}

TEST_F(TaskCounts, TheLeastCountedWorkerIsReported) {
  source[1]->counted = 0.25;
  EXPECT_EQ(counts.sums().counted, 0.25);
}

TEST_F(TaskCounts, StatedWorkIsOfTheSliceThatEndsNext) {
  r.worker(0).counts()->add_work(10, 20);
  r.worker(0).counts()->add_work(1, 2);
  ends(fast);
  ends(slow);
  r.worker(1).counts()->add_work(100, 200);
  r.worker(1).record({.name = fast, .begin = 0, .end = 1});
  EXPECT_EQ(counts.sums().of(fast).flops, 111);
  EXPECT_EQ(counts.sums().of(fast).bytes, 222);
  EXPECT_EQ(counts.sums().of(slow).flops, 0);
  count_work(1, 1);  // outside of tasks: no effect
}

/// Whatever a worker does: the counts of its types and of no task, each counted here as it happens, sum to all of it.
TEST_F(TaskCounts, TypesAndNoTaskSumToTheTotal) {
  std::mt19937 choose(7);
  for (int round = 0; round < 50; ++round) {
    std::uint64_t of_fast = of(fast), of_slow = of(slow);
    event_counts nothing{};
    r.worker(0).counts()->add_no_task(std::span(nothing).first(n_events));
    std::uint64_t none = nothing[0];
    for (int i = 0; i < 100; ++i) {
      const bool gap = choose() % 2 == 0;
      const std::uint64_t outside = choose() % 5, inside = choose() % 50;
      const name_id name = choose() % 2 == 0 ? fast : slow;
      count(outside);
      if (gap) searches();
      if (gap || choose() % 2 == 0) starts(name);  // the start of an inline task with a name is not notified
      count(inside);
      ends(name, choose() % 4 != 0);
      (name == fast ? of_fast : of_slow) += inside + (gap ? 0 : outside);
      none += gap ? outside : 0;
    }
    const counts_of_tasks all = counts.sums();
    event_counts counted{};
    r.worker(0).counts()->add_no_task(std::span(counted).first(n_events));
    EXPECT_EQ(all.of(fast).events[0], of_fast);
    EXPECT_EQ(all.of(slow).events[0], of_slow);
    EXPECT_EQ(counted[0], none);
    EXPECT_EQ(all.no_task[0], none);  // all of it is known at a boundary
    EXPECT_EQ(all.total[0], of_fast + of_slow + none);
  }
}

}  // namespace
