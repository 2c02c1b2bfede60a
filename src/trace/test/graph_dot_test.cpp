#include "trace/task_plots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::Not;

/// True if Graphviz accepts the text, or is not installed.
bool dot_reads(const std::string& text) {
  if (std::system("command -v dot > /dev/null 2>&1") != 0) return true;
  const std::string path = temporary_path("graph.dot");
  EXPECT_TRUE(write_file(path, text));
  return std::system(("dot -Tsvg -o /dev/null '" + path + "'").c_str()) == 0;
}

trace_builder program() {
  trace_builder b(1);
  b.task(0, 1, "make \"x\"\\", 0, 10).key(7).task(0, 2, "left", 10, 40).task(0, 3, "right", 40, 50);
  b.task(0, 4, "sum", 50, 60);
  b.edge(1, 2, 5).edge(1, 3, 6).edge(2, join_bit | 1, 40).edge(3, join_bit | 1, 50).edge(join_bit | 1, 4, 50);
  return b;
}

TEST(GraphDot, SingleTasksWithTheCriticalPathBold) {
  const std::string text = task_graph_dot(trace_graph(program().data));
  EXPECT_THAT(text, HasSubstr("t0 [label=\"make \\\"x\\\"\\\\ #7\\n"));
  EXPECT_THAT(text, HasSubstr("t0 -> t1 [penwidth"));
  EXPECT_THAT(text, HasSubstr("t0 -> t2;"));
  EXPECT_THAT(text, HasSubstr("t1 -> t3 [penwidth")) << "through the join";
  EXPECT_THAT(text, HasSubstr("t2 -> t3;"));
  EXPECT_TRUE(dot_reads(text));
}

TEST(GraphDot, KindsWithCounts) {
  trace_builder b(1);
  b.task(0, 1, "root", 0, 10);
  for (task_id i = 2; i < 1002; ++i)
    b.task(0, i, "leaf", 10 * i, 10 * i + 9).edge(1, i, 5).edge(i, join_bit | 1, 10 * i + 9);
  for (task_id i = 2002; i < 2012; ++i) b.task(0, i, "after", 10 * i, 10 * i + 9).edge(join_bit | 1, i, 10 * 1001 + 9);
  const trace_graph g(b.data);
  const std::string text = kind_graph_dot(g);
  EXPECT_THAT(text, HasSubstr("leaf\\n1,000 tasks, "));
  EXPECT_THAT(text, HasSubstr("[label=\"1,000\"]"));
  EXPECT_THAT(text, HasSubstr("[label=\"10\"]")) << "ten waited for leaves";
  EXPECT_TRUE(dot_reads(text));
  const std::string path = temporary_path("kinds.dot");
  ASSERT_TRUE(write_graph_dot(g, path));
  EXPECT_EQ(read_file(path).value(), text) << "too many for single tasks";
  EXPECT_FALSE(write_graph_dot(g, "/dev/full"));
}

TEST(GraphDot, OfNothing) { EXPECT_TRUE(dot_reads(kind_graph_dot(trace_graph(trace_data{})))); }

}  // namespace
}  // namespace plx::probe
