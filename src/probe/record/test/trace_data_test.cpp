#include "probe/record/trace_data.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "probe/record/recorder.hpp"

namespace plx::probe {
namespace {

using ends = std::set<std::pair<task_id, task_id>>;

TEST(TraceData, SamplesAndMarksHaveALimitAndTheExcessIsLost) {
  constexpr int most = 1 << 20;
  recorder r(1);
  r.trace(true, 64);
  for (int i = 0; i < most; ++i) r.trace_counter("n", i);
  EXPECT_EQ(r.trace_lost(), 0u);
  for (int i = 0; i < 3; ++i) r.trace_counter("n", i);
  EXPECT_EQ(r.trace_lost(), 3u);
  EXPECT_EQ(r.collect_trace().samples.size(), std::size_t{most});
  r.forget_trace();
  for (int i = 0; i < most + 2; ++i) r.mark("c", "t");
  EXPECT_EQ(r.trace_lost(), 5u);
  EXPECT_EQ(r.collect_trace().marks.size(), std::size_t{most});
}

TEST(TraceData, EdgesOfOneMomentAreReturnedUnchanged) {
  for (task_id n = 1; n <= 9; ++n) {
    recorder r(1);
    r.trace(true, 64);
    worker_log& log = r.worker(0);
    ends expected;
    for (task_id to = 1; to <= n; ++to) {
      log.edge(7, 100 + to, 5000);
      expected.insert({7, 100 + to});
    }
    log.edge(8, 200, 5000);
    log.edge(8, 201, 5001);
    log.edge(8, 202, 5001);
    expected.insert({{8, 200}, {8, 201}, {8, 202}});
    log.record({.name = 1, .begin = 4000, .end = 6000, .id = 7, .cause = 3, .ready = 3500});
    expected.insert({3, 7});
    const trace_data t = r.collect_trace();
    ends found;
    for (const trace_edge& e : t.edges) {
      found.insert({e.from, e.to});
      EXPECT_EQ(e.when, e.to == 7 ? 3500u : e.from == 8 && e.to > 200 ? 5001u : 5000u);
    }
    EXPECT_EQ(found, expected) << n;
    EXPECT_EQ(t.edges.size(), expected.size());
    ASSERT_EQ(t.workers[0].size(), 1u);
    EXPECT_EQ(t.workers[0][0].id, 7u);
    EXPECT_EQ(t.workers[0][0].ready, 3500u);
    EXPECT_EQ(t.lost, 0u);
  }
}

TEST(TraceData, ALostRecordDoesNotAffectOthers) {
  recorder r(1);
  r.trace(true, 4);
  worker_log& log = r.worker(0);
  for (int i = 0; i < 3; ++i) log.record({.name = 1, .begin = 1, .end = 2});
  const task_id a = log.next_id(), b = a + 1;
  log.edge(a, a + 101, 10);                                            // the last place
  log.edge(b, a + 102, 11);                                            // lost,
  for (task_id to = a + 103; to < a + 108; ++to) log.edge(b, to, 11);  // and so are the five after it
  EXPECT_EQ(r.collect_trace().edges.size(), 1u);                       // the ring is empty again
  for (task_id to = a + 108; to < a + 113; ++to) log.edge(b, to, 11);  // the same moment, with space in the ring
  log.record({.name = 1, .begin = 1, .end = 2});
  const trace_data t = r.collect_trace();
  ASSERT_EQ(t.edges.size(), 6u);
  EXPECT_EQ(t.edges[0].from, a);
  for (std::size_t i = 1; i < 6; ++i) {
    EXPECT_EQ(t.edges[i].from, b);
    EXPECT_EQ(t.edges[i].to, a + 107 + i);
  }
  EXPECT_EQ(t.lost, 6u);
  EXPECT_EQ(t.workers[0].size(), 4u);
}

TEST(TraceData, AShareOfTheTasksHasNoEdges) {
  recorder r(1);
  r.trace(true, 1024, 0.25);
  for (task_id id = 1; id <= 100; ++id) {
    r.worker(0).edge(id, id + 1, 5);
    r.worker(0).record({.name = 1, .begin = id, .end = id + 1});
  }
  const trace_data t = r.collect_trace();
  EXPECT_EQ(t.share, 0.25);
  EXPECT_EQ(t.workers[0].size(), 25u);
  EXPECT_TRUE(t.edges.empty());
}

}  // namespace
}  // namespace plx::probe
