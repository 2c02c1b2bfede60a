#include "trace/tools/trace_export.hpp"

#include <gtest/gtest.h>

#include "probe/record/test/trace_builder_test.hpp"

namespace listed_parents_test {

using namespace plx::probe;

/// n tasks and a join of them that m others wait for.
trace_data inputs_of_many(task_id n, task_id m) {
  trace_builder b(1);
  const task_id join = join_bit | 1;
  for (task_id i = 1; i <= n; ++i) b.task(0, i, "in", 10 * i, 10 * i + 5).edge(i, join, 10 * i + 5);
  for (task_id i = 1; i <= m; ++i)
    b.edge(join, n + i, 10 * n + 5).task(0, n + i, "out", 10 * (n + i), 10 * (n + i) + 5);
  return b.data;
}

TEST(ListedParents, AreAllListedInOrderOfNumber) {
  const trace_graph g(inputs_of_many(500, 1));
  listed_parents listed(g, 1000);
  EXPECT_TRUE(listed.of(0).empty());
  const auto parents = listed.of(500);
  ASSERT_EQ(parents.size(), 500u);
  for (task_id i = 0; i < 500; ++i) EXPECT_EQ(parents[i], i + 1);
  EXPECT_FALSE(listed.cut());
  EXPECT_EQ(listed.pieces_cut(), 0u);
  EXPECT_EQ(listed.longest(), 500u);
}

TEST(ListedParents, StayProportionalToTheLinks) {
  const trace_graph g(inputs_of_many(500, 500));
  listed_parents listed(g, 1000);
  std::size_t sum = 0, few = 0;
  for (trace_graph::index p = 0; p < 1000; ++p) {
    const std::size_t n = listed.of(p).size();
    sum += n;
    few += listed.cut();
    if (p >= 500) {
      EXPECT_GE(n, listed_parents::always);
      EXPECT_EQ(listed.cut(), n < 500) << p;
    }
  }
  EXPECT_EQ(listed.pieces_cut(), few);
  EXPECT_GT(few, 400u);
  EXPECT_LE(sum, 4 * g.link_count() + 500 * listed_parents::always);
  EXPECT_GT(sum, 4 * g.link_count());
}

TEST(ListedParents, AreLimitedPerSlice) {
  const trace_graph g(inputs_of_many(101, 1));
  listed_parents listed(g, 100);
  EXPECT_EQ(listed.of(101).size(), 100u);
  EXPECT_TRUE(listed.cut());
}

/// A task of many slices, each with a link, is one parent: the limit applies to the links visited.
TEST(ListedParents, LinksOfOneTaskCountLikeOthers) {
  trace_builder b(1);
  const task_id join = join_bit | 1;
  constexpr task_id pieces = 200, waiters = 200;
  for (task_id i = 0; i < pieces; ++i)
    b.piece(0, 1, "in", 10 * i, 10 * i + 5, i + 1 == pieces, i != 0).edge(1, join, 10 * i + 5);
  for (task_id i = 0; i < waiters; ++i) {
    const task_id begin = 10 * (pieces + i);
    b.edge(join, 2 + i, 10 * pieces).task(0, 2 + i, "out", begin, begin + 5);
  }
  const trace_graph g(b.data);
  listed_parents listed(g, 1000);
  for (trace_graph::index p = 0; p < pieces + waiters; ++p) EXPECT_LE(listed.of(p).size(), 1u);
  EXPECT_GT(listed.pieces_cut(), waiters / 2);
}

}  // namespace listed_parents_test
