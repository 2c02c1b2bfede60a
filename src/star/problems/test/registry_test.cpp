#include "star/problems/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/config.hpp"

namespace plx::star {
namespace {

TEST(Registry, ListsProblemsInOrderAndMakesThem) {
  const auto names = problem_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const auto& name : names) EXPECT_TRUE(make_problem(name)) << name;
}

TEST(Registry, UnknownNameIsRefusedWithTheKnownOnes) {
  const auto r = make_problem("sedow");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("sedov"), std::string::npos);
  EXPECT_NE(r.error().message.find("'sedow'"), std::string::npos);
}

// Other tests of this program see the problem too: it has options and a state as any other.
class flat_problem final : public problem {
 public:
  void describe(config_table& t) override { t.section("a_test_problem", "Uniform gas"); }
  primitive at(const vector&, double) const override { return {}; }
};
const bool registered = register_problem({"a_test_problem", "uniform gas", make<flat_problem>});

TEST(Registry, HasTheProblemsOfUsers) {
  EXPECT_TRUE(registered);
  EXPECT_EQ(all_problems().front().name, "a_test_problem");
  EXPECT_TRUE(make_problem("a_test_problem"));
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
