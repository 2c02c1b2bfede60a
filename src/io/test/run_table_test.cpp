#include "io/run_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plx {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

const std::string names = "step,time,mass\n";
const std::string rows = names + "0,0,1\n2,0.5,1\n4,1e-3,nan\n";

std::string refusal(const std::string& text, std::int64_t step = 4, std::int64_t last_row = -1) {
  const auto kept = bytes_up_to_step("t.csv", text, names, step, last_row);
  return kept ? "" : kept.error().message;
}

TEST(RunTable, RowsUpToTheCheckpointStay) {
  EXPECT_EQ(bytes_up_to_step("t.csv", rows, names, 9).value(), rows.size());
  EXPECT_EQ(bytes_up_to_step("t.csv", rows, "", 3, 2).value(), rows.find("4,1e-3"));
  EXPECT_EQ(bytes_up_to_step("t.csv", names, names, 3).value(), names.size());
}

TEST(RunTable, WhatFollowsTheCheckpointIsRemoved) {
  EXPECT_EQ(bytes_up_to_step("t.csv", rows + "5,1", names, 4, 4).value(), rows.size());           // cut in mid row
  EXPECT_EQ(bytes_up_to_step("t.csv", rows + "6,2,1\n\x1b,", names, 4, 4).value(), rows.size());  // after a later row
}

TEST(RunTable, RowsBeforeTheCheckpointMustBeRowsOfTheRun) {
  EXPECT_EQ(refusal(names + "0,0,1\n1,2\n"), "'t.csv', line 3: expected a row of 3 values, found '1,2'");
  EXPECT_THAT(refusal(names + "0,0,1,1\n"), HasSubstr("line 2: expected a row of 3 values, found '0,0,1,1'"));
  EXPECT_THAT(refusal(names + "\x01\n0,0,1\n"), EndsWith("found '\\x01'"));
  EXPECT_THAT(refusal(names + "0,0,x\n"), EndsWith("line 2: expected a number in the column 'mass', found 'x'"));
  EXPECT_THAT(refusal(names + "0,,1\n"), EndsWith("line 2: expected a number in the column 'time', found ''"));
  EXPECT_THAT(refusal(names + "2,0,1\n2,0,1\n"), EndsWith("line 3: expected a step above 2, found '2'"));
  EXPECT_THAT(refusal(""), HasSubstr("line 1: "));
  EXPECT_THAT(refusal("step,time\n0,1\n"), HasSubstr("line 1: expected the columns 'step,time,mass' of this program"));
  for (const char* text : {"", "step,time,mass", "0,1,2\n", "a,b,\n"})
    EXPECT_THAT(refusal(text), HasSubstr("expected a line with the names of the columns")) << text;
}

/// Rows that were written before the checkpoint cannot be written again.
TEST(RunTable, RowsBeforeTheCheckpointMustBeThere) {
  EXPECT_EQ(refusal(rows, 5, 4), "");
  EXPECT_EQ(refusal(rows.substr(0, rows.size() - 1), 5, 4),
            "'t.csv': expected rows up to step 4, as when the checkpoint was written, found the last at step 2");
  EXPECT_THAT(refusal(names, 5, 4), EndsWith("found none"));
}

TEST(RunTable, CellsAreNumbersOrEmptyOrWordsInTheirColumn) {
  const std::string table = "t,channel,value\n1,charge,\n0.5,d_wave,-1e-3\n";
  EXPECT_TRUE(check_table("t.csv", table, "channel"));
  const auto refused = [](const std::string& text) { return check_table("t.csv", text, "channel").error().message; };
  EXPECT_THAT(refused(table + "1,2,3\n"), EndsWith("line 4: expected a word in the column 'channel', found '2'"));
  EXPECT_THAT(refused(table + "x,a,3\n"), EndsWith("line 4: expected a number in the column 't', found 'x'"));
  EXPECT_THAT(refused(table + "1,a\n"), EndsWith("line 4: expected a row of 3 values, found '1,a'"));
  EXPECT_THAT(refused(table + "1,a,3"), EndsWith("line 4: expected a line break at the end of the row, found '1,a,3'"));
}

}  // namespace
}  // namespace plx
