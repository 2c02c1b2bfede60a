#include "star/problems/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/config.hpp"

namespace plx::star {
namespace {

TEST(Registry, ListsProblemsInOrderAndMakesThem) {
  const auto names = problem_names();
  EXPECT_EQ(names.size(), 7u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const auto& name : names) EXPECT_TRUE(make_problem(name)) << name;
}

TEST(Registry, UnknownNameIsRefusedWithTheKnownOnes) {
  const auto r = make_problem("sedow");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("sedov"), std::string::npos);
  EXPECT_NE(r.error().message.find("'sedow'"), std::string::npos);
}

TEST(Registry, OptionsHaveTheProblemsName) {
  config_table table;
  std::vector<std::unique_ptr<problem>> problems;
  for (const auto& entry : all_problems()) {
    problems.push_back(entry.make());
    problems.back()->describe(table);
  }
  for (const std::string& key : table.keys()) {
    const auto names = problem_names();
    EXPECT_NE(std::find(names.begin(), names.end(), key.substr(0, key.find('.'))), names.end()) << key;
  }
}

}  // namespace
}  // namespace plx::star
