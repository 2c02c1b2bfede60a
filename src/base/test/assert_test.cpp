#include "base/assert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

enum class colour { red = 3 };
struct opaque {};

TEST(Assert, PassesWithoutEvaluatingTheValues) {
  int evaluated = 0;
  PLX_ASSERT(1 + 1 == 2, ++evaluated);
  PLX_ASSERT(true);
  EXPECT_EQ(evaluated, 0);
}

TEST(Assert, ComparesIntegersByValueWhateverTheirSign) {
  PLX_ASSERT_LT(-1, std::size_t{0});
  PLX_ASSERT_NE(-1, ~std::uint32_t{0});
  PLX_ASSERT_GE(std::int64_t{5}, std::uint8_t{5});
  PLX_ASSERT_EQ(std::vector<int>(3).size(), 3);
}

TEST(Assert, EvaluatesEachSideOnce) {
  int a = 0;
  PLX_ASSERT_EQ(++a, 1);
  EXPECT_EQ(a, 1);
}

TEST(AssertDeathTest, PrintsLocationExpressionAndValues) {
  const int index = 7;
  const std::string who = "block";
  EXPECT_DEATH(PLX_ASSERT(index < 5, index, std::max(1, 2), who, 1.5, colour::red, opaque{}),
               "assert_test.cpp:[0-9]+: in TestBody\\(\\): assertion failed: index < 5 "
               "\\(index=7, std::max\\(1, 2\\)=2, who=\"block\", "  // words: ok
               "1.5=1.5, colour::red=3, opaque\\{\\}=\\(no text\\)\\)");
}

TEST(AssertDeathTest, ComparisonsPrintBothSides) {
  const int a = 2;
  EXPECT_DEATH(PLX_ASSERT_EQ(a, a + 1), "assertion failed: a == a \\+ 1 \\(a=2, a \\+ 1=3\\)");
  EXPECT_DEATH(PLX_ASSERT_GT(a, 2u), "assertion failed: a > 2u \\(a=2, 2u=2\\)");
  EXPECT_DEATH(PLX_ASSERT_LE(std::nan(""), 1.0), "nan");
}

TEST(AssertDeathTest, NoValuesNoParentheses) { EXPECT_DEATH(PLX_ASSERT(2 < 1), "assertion failed: 2 < 1\n"); }

}  // namespace
