#include "trace/stacks/stack_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace plx::probe {
namespace {

using testing::HasSubstr;

[[gnu::noinline]] int inner_function(int i) { return i * 7 + 1; }
[[gnu::noinline]] int outer_function(int i) { return i * 11 + 2; }

sample_tree sampled() {
  const name_id task = register_name("a, task");
  const auto inner = reinterpret_cast<std::uintptr_t>(&inner_function);
  const auto outer = reinterpret_cast<std::uintptr_t>(&outer_function) + 2;
  sample_tree t;
  const std::uintptr_t frames[] = {inner, outer};
  t.add({sampled_activity::task, true, 3, task, frames});
  t.add({sampled_activity::searching, true, 1, unnamed, {frames, 1}});
  return t;
}

TEST(StackFiles, TheFlameGraphHasTasksBelowTheirFunctions) {
  const std::string svg = stacks_svg(sampled(), sampled().calls(), 0.01);
  EXPECT_THAT(svg, HasSubstr("2 samples, 40.0 ms;"));
  EXPECT_THAT(svg, HasSubstr("a, task: 30.0 ms (75.0 %), of it 0 itself"));
  EXPECT_THAT(svg, HasSubstr("inner_function: 30.0 ms (75.0 %), of it 30.0 ms itself"));
  EXPECT_THAT(stacks_svg(sample_tree(), {}, 0.01), HasSubstr("0 samples"));
}

TEST(StackFiles, TheTableHasTheTimeOfEachFunctionItself) {
  const std::string csv = stacks_csv(sampled(), 0.01);
  EXPECT_THAT(csv, testing::StartsWith("task,function,cpu_s,share,file,line,line_cpu_s\n\"a, task\","));
  EXPECT_THAT(csv, HasSubstr("inner_function,0.03,0.75,"));
  EXPECT_THAT(csv, HasSubstr("(search for tasks),"));
  EXPECT_THAT(csv, Not(HasSubstr("outer_function")));
  EXPECT_EQ(inner_function(1) + outer_function(1), 21);
}

TEST(StackFiles, WithoutLinesNoneAreLookedUp) {
  const std::string csv = stacks_csv(sampled(), 0.01, false);
  EXPECT_THAT(csv, HasSubstr("inner_function,0.03,0.75,,,\n"));
}

TEST(StackFiles, OnlyTheMostExpensiveFunctionsAreListed) {
  const std::string csv = stacks_csv(sampled(), 0.01, true, 1);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_EQ(stacks_csv(sample_tree(), 1), "task,function,cpu_s,share,file,line,line_cpu_s\n");
}

}  // namespace
}  // namespace plx::probe
