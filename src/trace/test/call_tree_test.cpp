#include "trace/task_plots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> paths(const std::vector<call_path>& tree) {
  std::vector<std::string> texts;
  for (const call_path& p : tree)
    texts.push_back((p.parent == call_path::none ? "" : texts[p.parent] + "/") + std::string(name_of(p.name)) + " " +
                    std::to_string(p.tasks));
  return texts;
}

trace_builder program() {
  trace_builder b(1);
  b.task(0, 1, "main", 0, 10).task(0, 2, "step", 10, 20).task(0, 3, "flux", 20, 120).task(0, 4, "flux", 120, 220);
  b.task(0, 5, "step", 220, 230).task(0, 6, "flux", 230, 330).task(0, 7, "write", 330, 340);
  b.edge(1, 2, 5).edge(2, 3, 15).edge(2, 4, 16).edge(3, join_bit | 1, 120).edge(4, join_bit | 1, 220);
  b.edge(join_bit | 1, 5, 220).edge(5, 6, 225).edge(1, 7, 9);
  return b;
}

TEST(CallTree, FoldsRecursionInPathsOfNames) {
  const auto tree = call_tree(trace_graph(program().data));
  // The second step was made ready by flux, which is below step: it is folded into step.
  EXPECT_THAT(paths(tree), testing::ElementsAre("main 1", "main 1/step 2", "main 1/step 2/flux 3", "main 1/write 1"));
  const double tick = 1 / ticks_per_second();
  EXPECT_NEAR(tree[0].own_s, 10 * tick, 1e-15);
  EXPECT_NEAR(tree[0].below_s, 340 * tick, 1e-15);
  EXPECT_NEAR(tree[1].below_s, 320 * tick, 1e-15);
  EXPECT_NEAR(tree[2].below_s, 300 * tick, 1e-15);
}

TEST(CallTree, AChainOfContinuationsIsOnePath) {
  trace_builder b(1);
  for (task_id i = 1; i <= 100'000; ++i) b.task(0, i, i % 2 == 0 ? "even" : "odd", 10 * i, 10 * i + 5);
  for (task_id i = 1; i < 100'000; ++i) b.edge(i, i + 1, 10 * i + 5);
  EXPECT_THAT(paths(call_tree(trace_graph(b.data))), testing::ElementsAre("odd 50000", "odd 50000/even 50000"));
}

TEST(CallTree, TextIsATreeWithSmallPathsSummed) {
  const auto tree = call_tree(trace_graph(program().data));
  const std::string text = call_tree_text(tree, 0.05);
  EXPECT_THAT(text, HasSubstr("100.0 %  main\n"));
  EXPECT_THAT(text, HasSubstr("`- step\n")) << text;
  EXPECT_THAT(text, HasSubstr("   `- flux\n"));
  EXPECT_THAT(text, Not(HasSubstr("write")));
  EXPECT_THAT(text, HasSubstr("and 1 further path,"));
  EXPECT_THAT(call_tree_text(tree, 0), HasSubstr("|- step\n"));
  EXPECT_THAT(call_tree_text(tree, 0), HasSubstr("|  `- flux\n"));
  EXPECT_THAT(call_tree_text(tree, 0), HasSubstr("`- write\n"));
}

TEST(CallTree, CsvHasOneRowPerPath) {
  const std::string path = temporary_path("tree.csv");
  ASSERT_TRUE(write_call_tree_csv(call_tree(trace_graph(program().data)), path));
  const std::string text = read_file(path).value();
  EXPECT_THAT(text, testing::StartsWith("depth,path,name,tasks,own_s,below_s,share\n0,main,main,1,"));
  EXPECT_THAT(text, HasSubstr("\n2,main > step > flux,flux,3,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_FALSE(write_call_tree_csv({}, "/dev/full"));
}

TEST(CallTree, OfNothing) {
  EXPECT_TRUE(call_tree(trace_graph(trace_data{})).empty());
  EXPECT_THAT(call_tree_text({}), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace plx::probe
