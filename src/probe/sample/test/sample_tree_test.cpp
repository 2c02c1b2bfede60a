#include "probe/sample/sample_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace plx::probe {
namespace {

// Functions whose addresses stand for samples in them. They differ, so that the linker keeps both.
[[gnu::noinline]] int hot_function(int i) { return i * 3 + 1; }
[[gnu::noinline]] int calling_function(int i) { return i * 5 + 2; }

std::uintptr_t inside(int (*f)(int), std::uintptr_t offset) { return reinterpret_cast<std::uintptr_t>(f) + offset; }

const sampled_call* find(const std::vector<sampled_call>& calls, const std::string& name) {
  const auto it =
      std::find_if(calls.begin(), calls.end(), [&](const sampled_call& c) { return c.name.find(name) != c.name.npos; });
  return it == calls.end() ? nullptr : &*it;
}

TEST(SampleTree, AddressesOfOneFunctionAreOneCall) {
  const name_id task = register_name("tree; task");
  sample_tree t;
  const std::uintptr_t caller = inside(calling_function, 2);
  const std::uintptr_t one[] = {inside(hot_function, 0), caller}, other[] = {inside(hot_function, 1), caller};
  t.add({sampled_activity::task, true, 1, task, one});
  t.add({sampled_activity::task, true, 4, task, other});
  t.add({sampled_activity::task, true, 2, task, {other, 1}});
  t.add({sampled_activity::searching, true, 1, 0, one});
  EXPECT_EQ(t.total(), 8u);
  EXPECT_EQ(t.samples(), 4u);
  const auto calls = t.calls();
  ASSERT_EQ(calls.size(), 7u);
  EXPECT_EQ(calls[0].name, "tree; task");
  EXPECT_EQ(calls[0].below, 7u);
  EXPECT_EQ(calls[0].own, 0u);
  EXPECT_NE(calls[1].name.find("calling_function"), std::string::npos);
  EXPECT_EQ(calls[1].below, 5u);
  EXPECT_EQ(calls[2].parent, 1u);
  EXPECT_EQ(calls[2].depth, 2u);
  EXPECT_EQ(calls[2].own, 5u);
  EXPECT_EQ(calls[3].parent, 0u);
  EXPECT_EQ(calls[3].own, 2u);
  EXPECT_EQ(calls[4].name, "(search for tasks)");
  const std::string text = collapsed_stacks(calls);
  EXPECT_NE(text.find("tree, task;"), std::string::npos);
  EXPECT_NE(text.find("hot_function 5\n"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST(SampleTree, ADifferenceHasTheSamplesSinceThen) {
  sample_tree t;
  const std::uintptr_t hot[] = {inside(hot_function, 0)}, other[] = {inside(calling_function, 0)};
  const name_id first = register_name("tree first"), second = register_name("tree second");
  t.add({sampled_activity::task, true, 3, first, hot});
  t.add({sampled_activity::task, true, 2, second, hot});
  const auto then = t.counts();
  EXPECT_EQ(t.since(then).total(), 0u);
  EXPECT_TRUE(t.since(then).calls().empty());
  t.add({sampled_activity::task, true, 4, second, hot});
  t.add({sampled_activity::task, true, 1, second, other});
  const auto calls = t.since(then).calls();
  EXPECT_EQ(t.since(then).total(), 5u);
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].name, "tree second");
  EXPECT_EQ(calls[0].below, 5u);
  EXPECT_EQ(calls[1].own, 4u);
  EXPECT_EQ(t.since({}).total(), t.total());
  EXPECT_EQ(t.calls().size(), 5u);
}

TEST(SampleTree, AReturnAddressBelongsToTheCallBeforeIt) {
  sample_tree t;
  // The call is the last instruction of its function: the return address is the begin of the next one.
  const std::uintptr_t frames[] = {inside(hot_function, 0), inside(hot_function, 0)};
  t.add({sampled_activity::task, true, 1, register_name("edge"), frames});
  const auto places = t.places(10);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].address, reinterpret_cast<const void*>(frames[0]));
  const auto calls = t.calls();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[1].name.find("hot_function"), std::string::npos);
  EXPECT_NE(calls[2].name.find("hot_function"), std::string::npos);
}

TEST(SampleTree, StacksThatAreCutAreMarked) {
  sample_tree t;
  const std::uintptr_t frames[] = {inside(hot_function, 0)};
  t.add({sampled_activity::outside, false, 1, 0, frames});
  const auto calls = t.calls();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].name, "(outside of tasks)");
  EXPECT_EQ(calls[1].name, "(callers not known)");
}

TEST(SampleTree, AFullTreeCountsForTheCallerAndReportsIt) {
  sample_tree t(3);
  const std::uintptr_t one[] = {0x10, 0x21}, other[] = {0x11, 0x21}, third[] = {0x12, 0x31};
  for (const auto& frames : {one, other, third}) t.add({sampled_activity::task, true, 2, 1, {frames, 2}});
  EXPECT_EQ(t.total(), 6u);
  EXPECT_EQ(t.shortened(), 4u);
  std::uint64_t sum = 0;
  for (const sampled_call& c : t.calls()) sum += c.own;
  EXPECT_EQ(sum, 6u);
}

TEST(SampleTree, ManyPathsAreFoundAgain) {
  sample_tree t;
  for (int round = 0; round < 2; ++round)
    for (std::uintptr_t i = 1; i <= 3000; ++i) {
      const std::uintptr_t frames[] = {i * 16, i * 48 + 1};
      t.add({sampled_activity::task, true, 1, 2, frames});
    }
  const auto places = t.places(sample_tree::most_nodes);
  ASSERT_EQ(places.size(), 3000u);
  for (const sampled_place& p : places) EXPECT_EQ(p.own, 2u);
  EXPECT_EQ(t.places(5).size(), 5u);
}

TEST(SampleTree, UsesTheFunctions) {
  EXPECT_EQ(hot_function(1) + calling_function(1), 11);
  EXPECT_EQ(find({}, "x"), nullptr);
  EXPECT_TRUE(sample_tree().calls().empty());
  EXPECT_EQ(collapsed_stacks({}), "");
}

}  // namespace
}  // namespace plx::probe
