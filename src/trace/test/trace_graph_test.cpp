#include "trace/trace_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using index = trace_graph::index;

index number_of(const trace_graph& g, task_id id) {
  for (index t = 0; t < g.tasks().size(); ++t)
    if (g.tasks()[t].id == id) return t;
  return trace_graph::none;
}

std::vector<task_id> parents_of(const trace_graph& g, task_id id) {
  std::vector<task_id> ids;
  for (const index p : g.parents(number_of(g, id))) ids.push_back(g.tasks()[p].id);
  return ids;
}

/// Every link leads upwards in the order.
void expect_order(const trace_graph& g) {
  std::vector<std::size_t> place(g.node_count());
  ASSERT_EQ(g.order().size(), g.node_count());
  for (std::size_t i = 0; i < g.order().size(); ++i) place[g.order()[i]] = i;
  for (index n = 0; n < g.node_count(); ++n)
    for (const trace_graph::link& l : g.links(n)) EXPECT_LT(place[l.from], place[n]);
}

TEST(TraceGraph, AnEmptyTraceIsAnEmptyGraph) {
  const trace_graph g(trace_data{});
  EXPECT_TRUE(g.tasks().empty());
  EXPECT_EQ(g.node_count(), 0u);
  EXPECT_EQ(g.wall(), 0u);
  EXPECT_FALSE(g.missing().any());
}

TEST(TraceGraph, ATaskMayHaveSeveralParents) {
  trace_builder b(2);
  b.task(0, 1, "a", 0, 10).task(1, 2, "b", 0, 12).task(0, 3, "c", 15, 20);
  b.edge(1, 3, 10).edge(2, 3, 12).edge(1, 3, 9);
  const trace_graph g(b.data);
  EXPECT_THAT(parents_of(g, 3), ElementsAre(1, 2));
  EXPECT_EQ(g.maker(number_of(g, 3)), number_of(g, 2));
  EXPECT_EQ(g.maker(number_of(g, 1)), trace_graph::none);
  EXPECT_EQ(g.links(number_of(g, 3)).size(), 2u) << "the same pair recorded twice is one link";
  EXPECT_EQ(g.wall(), 20u);
  expect_order(g);
}

TEST(TraceGraph, JoinsAreResolved) {
  const task_id all = join_bit | 7, both = join_bit | 8;
  trace_builder b(1);
  b.task(0, 1, "a", 0, 10).task(0, 2, "b", 10, 20).task(0, 3, "c", 20, 30).task(0, 4, "d", 40, 50);
  b.edge(1, all, 10).edge(2, all, 20).edge(all, both, 21).edge(3, both, 30).edge(both, 4, 31);
  const trace_graph g(b.data);
  EXPECT_EQ(g.node_count(), 6u);
  EXPECT_THAT(parents_of(g, 4), ElementsAre(1, 2, 3));
  EXPECT_EQ(g.parents(number_of(g, 4), 2).size(), 2u);
  EXPECT_EQ(g.maker(number_of(g, 4)), number_of(g, 3)) << "its input came last";
  expect_order(g);
}

TEST(TraceGraph, AnEdgeLeavesTheRunningSliceAndEntersTheNextOne) {
  trace_builder b(2);
  b.piece(0, 1, "parent", 0, 10, false, false).piece(1, 2, "child", 5, 20).piece(1, 1, "parent", 25, 30, true, true);
  b.edge(1, 2, 3).edge(2, 1, 20);
  const trace_graph g(b.data);
  const trace_graph::task& parent = g.tasks()[0];
  ASSERT_EQ(parent.n_pieces, 2u);
  ASSERT_EQ(g.tasks().size(), 2u);
  const index child = g.tasks()[1].first_piece;
  ASSERT_EQ(g.links(child).size(), 1u);
  EXPECT_EQ(g.links(child)[0].from, parent.first_piece);
  EXPECT_EQ(g.links(child)[0].when, 3u);
  const auto resumed = g.links(parent.first_piece + 1);
  ASSERT_EQ(resumed.size(), 2u) << "the previous slice, and the child";
  EXPECT_EQ(resumed[0].from, parent.first_piece);
  EXPECT_EQ(resumed[1].from, child);
  EXPECT_EQ(g.length_of(parent), 15u);
  expect_order(g);
}

TEST(TraceGraph, LateInputsOfAJoinAreDropped) {
  const task_id any = join_bit | 7;
  trace_builder b(2);
  b.task(0, 1, "first", 0, 10).task(1, 2, "second", 0, 30).task(0, 3, "then", 12, 20);
  b.edge(1, any, 10).edge(2, any, 30).edge(any, 3, 10);
  const trace_graph g(b.data);
  EXPECT_THAT(parents_of(g, 3), ElementsAre(1));
  EXPECT_EQ(g.missing().against_time, 1u);
}

TEST(TraceGraph, CyclesOfOneMomentAreBrokenAndCounted) {
  trace_builder b(2);
  b.task(0, 1, "a", 5, 5).task(1, 2, "b", 5, 5).task(0, 3, "c", 6, 9);
  b.edge(1, 2, 5).edge(2, 1, 5).edge(2, 3, 5).edge(3, 2, 9);
  const trace_graph g(b.data);
  EXPECT_EQ(g.missing().against_time, 2u);  // back to 1, and from 3, which began later
  EXPECT_THAT(parents_of(g, 3), ElementsAre(2));
  expect_order(g);
}

TEST(TraceGraph, GapsAreCounted) {
  trace_builder b(1);
  b.piece(0, 1, "a", 0, 10, true, true).piece(0, 2, "b", 10, 20, false, false);
  b.edge(77, 2, 5).edge(1, 78, 5);
  b.data.lost = 3;
  const trace_graph g(b.data);
  EXPECT_EQ(g.missing().lost_records, 3u);
  EXPECT_EQ(g.missing().headless, 1u);
  EXPECT_EQ(g.missing().unfinished, 1u);
  EXPECT_EQ(g.missing().unknown_edges, 2u);
  EXPECT_TRUE(g.missing().any());
  EXPECT_THAT(parents_of(g, 2), IsEmpty());
}

TEST(TraceGraph, WithoutIdsTasksStandAlone) {
  trace_builder b(1);
  b.piece(0, 0, "a", 0, 10, false, false).piece(0, 0, "a", 20, 30, true, true);
  const trace_graph g(b.data);
  EXPECT_EQ(g.tasks().size(), 2u);
  EXPECT_EQ(g.missing().headless, 0u);
}

TEST(TraceGraph, AChainOfAMillionJoinsIsWalkedWithoutRecursion) {
  trace_builder b(1);
  b.task(0, 1, "a", 0, 10).task(0, 2, "b", 2'000'000, 2'000'001);
  constexpr task_id n = 1'000'000;
  b.edge(1, join_bit | 1, 10);
  for (task_id i = 1; i < n; ++i) b.edge(join_bit | i, join_bit | (i + 1), 10 + i);
  b.edge(join_bit | n, 2, 10 + n);
  const trace_graph g(b.data);
  EXPECT_EQ(g.maker(1), 0u);
  EXPECT_EQ(g.node_count(), n + 2);
}

}  // namespace
}  // namespace plx::probe
