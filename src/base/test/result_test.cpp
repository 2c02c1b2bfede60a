#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace {

plx::result<int> half(int n) {
  if (n % 2 != 0) return plx::error{"expected an even number, found " + std::to_string(n)};
  return n / 2;
}

plx::result<std::string> quarter_text(int n) {
  auto h = half(n);
  if (!h) return h.error();
  return half(*h).map([](int q) { return std::to_string(q); });
}

plx::result<void> check(bool good) {
  if (!good) return plx::error{"not good"};
  return {};
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_TRUE(half(4));
  EXPECT_EQ(half(4).value(), 2);
  EXPECT_EQ(half(3).error().message, "expected an even number, found 3");
  EXPECT_EQ(half(3).value_or(9), 9);
}

TEST(Result, ErrorsConvertToOtherTypes) {
  EXPECT_EQ(quarter_text(8).value(), "2");
  EXPECT_EQ(quarter_text(6).error().message, "expected an even number, found 3");
}

TEST(Result, VoidHoldsSuccessOrFailure) {
  EXPECT_TRUE(check(true));
  EXPECT_EQ(check(false).error().message, "not good");
  EXPECT_EQ(check(true).map([] { return 5; }).value(), 5);
  EXPECT_FALSE(check(false).map([] { return 5; }));
}

TEST(Result, MovesValuesThatCannotBeCopied) {
  plx::result<std::unique_ptr<int>> r = std::make_unique<int>(3);
  const std::unique_ptr<int> p = std::move(r).value();
  EXPECT_EQ(*p, 3);
}

// A loop over part of a temporary result must not outlive it.
TEST(Result, ATemporaryReturnsItsValueByMove) {
  static_assert(std::is_same_v<decltype(half(4).value()), int>);
  static_assert(std::is_same_v<decltype(*quarter_text(8)), std::string>);
  std::string letters;
  for (char c : quarter_text(400).value()) letters += c;
  EXPECT_EQ(letters, "100");
}

TEST(Result, AValueMayBeAString) {
  plx::result<std::string> r = std::string("text");
  EXPECT_EQ(*r, "text");
}

TEST(ResultDeathTest, ValueOfAnErrorPrintsTheError) { EXPECT_DEATH((void)half(3).value(), "found 3"); }

}  // namespace
