#include "trace/flame_graph.hpp"

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

/// "main" 1 ms, of which it causes "a<b>" twice with 2 ms each, and "c;d" with 5 ms.
std::vector<call_path> tree() {
  const ticks ms = ticks_from(1e-3);
  trace_builder b(1);
  b.task(0, 1, "main", 0, ms).task(0, 2, "a<b>", ms, 3 * ms).task(0, 3, "a<b>", 3 * ms, 5 * ms);
  b.task(0, 4, "c;d", 5 * ms, 10 * ms);
  b.edge(1, 2, 5).edge(1, 3, 5).edge(1, 4, 6);
  return call_tree(trace_graph(b.data));
}

TEST(FlameGraph, CollapsedStacksHaveTheTimeOfEachPath) {
  EXPECT_EQ(collapsed_stacks(tree()), "main 1000\nmain;c,d 5000\nmain;a<b> 4000\n");
  EXPECT_EQ(collapsed_stacks({}), "");
}

/// The value of an attribute of the frame with that name, as a number.
double value_of(const std::string& svg, const std::string& name, const std::string& attribute) {
  const std::size_t named = svg.find("data-n=\"" + name + "\"");
  if (named == std::string::npos) return -1;
  const std::size_t frame = svg.rfind("<g ", named), at = svg.find(attribute + "=\"", frame);
  return std::strtod(svg.c_str() + at + attribute.size() + 2, nullptr);
}

TEST(FlameGraph, FramesHaveTheWidthOfTheirTimeAndLieOnTheirParent) {
  const std::string svg = flame_svg(tree());
  EXPECT_NEAR(value_of(svg, "main", "data-w"), 1, 1e-6);
  EXPECT_NEAR(value_of(svg, "c;d", "data-w"), 0.5, 1e-6);
  EXPECT_NEAR(value_of(svg, "c;d", "data-x"), 0, 1e-6);
  EXPECT_NEAR(value_of(svg, "a&lt;b&gt;", "data-w"), 0.4, 1e-6);
  EXPECT_NEAR(value_of(svg, "a&lt;b&gt;", "data-x"), 0.5, 1e-6);
  EXPECT_EQ(value_of(svg, "a&lt;b&gt;", "data-p"), 1);  // "all" is 0
  EXPECT_LT(value_of(svg, "c;d", " y"), value_of(svg, "main", " y"));
  EXPECT_LT(value_of(svg, "main", " y"), value_of(svg, "all", " y"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;: 4.00 ms (40.0 %), of it 4.00 ms in 2 tasks of its own"));
  EXPECT_THAT(svg, HasSubstr("4 tasks, 10.0 ms;"));
  EXPECT_THAT(svg, Not(HasSubstr("a<b>")));
}

TEST(FlameGraph, FramesTooSmallToSeeAreOmittedAndCounted) {
  trace_builder b(1);
  b.task(0, 1, "large", 0, 1'000'000'000).task(0, 2, "small", 1'000'000'000, 1'000'000'100);
  const std::string svg = flame_svg(call_tree(trace_graph(b.data)));
  EXPECT_THAT(svg, Not(HasSubstr("small")));
  EXPECT_THAT(svg, HasSubstr("1 path below 0.002 % are omitted"));
}

TEST(FlameGraph, IsWellFormedXml) {
  if (std::system("python3 -c '' > /dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  for (const auto& t : {tree(), std::vector<call_path>{}}) {
    const std::string path = temporary_path("flame.svg");
    ASSERT_TRUE(write_file(path, flame_svg(t)));
    EXPECT_EQ(
        std::system(("python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' '" + path + "'").c_str()), 0);
  }
}

}  // namespace
}  // namespace plx::probe
