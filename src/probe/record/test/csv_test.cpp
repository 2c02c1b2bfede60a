#include "probe/record/text_sink.hpp"

#include <gtest/gtest.h>

TEST(Csv, QuotesOnlyWhereNeeded) {
  using plx::probe::csv_field;
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("f(int, char)"), "\"f(int, char)\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
}
