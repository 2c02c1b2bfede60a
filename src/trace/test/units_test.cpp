#include "trace/profile.hpp"

#include <gtest/gtest.h>

namespace plx::probe {
namespace {

TEST(Units, TimesHaveThreeDigitsAndAFittingUnit) {
  EXPECT_EQ(time_text(0), "0");
  EXPECT_EQ(time_text(1.234e-9), "1.23 ns");
  EXPECT_EQ(time_text(4e-13), "0.00 ns");
  EXPECT_EQ(time_text(45.64e-6), "45.6 us");
  EXPECT_EQ(time_text(0.7894), "789 ms");
  EXPECT_EQ(time_text(0.99999), "1.00 s") << "not 1000 ms";
  EXPECT_EQ(time_text(9.9999), "10.0 s");
  EXPECT_EQ(time_text(86400), "86400 s");
}

TEST(Units, CountsAndShares) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(share_text(0), "0.0 %");
  EXPECT_EQ(share_text(1e-9), "<0.1 %");
  EXPECT_EQ(share_text(0.1234), "12.3 %");
}

TEST(Units, LongTextsAreShortenedBetweenCharacters) {
  EXPECT_EQ(shortened("short", 8), "short");
  EXPECT_EQ(shortened("\033[31mred\n", 20), "\\x1b[31mred\\x0a");
  EXPECT_EQ(shortened("0123456789", 9), "012...789");
  EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8),
            "\xc3\xa9\xc3\xa9\xc3\xa9...\xc3\xa9\xc3\xa9");
  EXPECT_EQ(padded("\xc3\xa9", 3), "\xc3\xa9  ");
  EXPECT_EQ(right("ab", 3), " ab");
  EXPECT_EQ(right("abcd", 3), "abcd");
}

}  // namespace
}  // namespace plx::probe
