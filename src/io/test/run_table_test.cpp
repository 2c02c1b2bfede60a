#include "io/run_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.hpp"

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

TEST(RunTable, RowsAfterTheCheckpointAreRemoved) {
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

TEST(RunTable, TablesAreShortened) {
  constexpr const char* tables[] = {"a.csv", "b.csv"};
  const std::string folder = testing::TempDir() + "plx_run_table_" + std::to_string(getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(append_file(folder + "/a.csv", "x\n", "1\n"));
  const auto sizes = sizes_of_tables(folder, tables);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(*sizes, (std::vector<std::uint64_t>{4, 0}));
  ASSERT_TRUE(append_file(folder + "/a.csv", "x\n", "2\n"));
  ASSERT_TRUE(append_file(folder + "/b.csv", "y\n", "2\n"));
  ASSERT_TRUE(shorten_tables(folder, tables, *sizes));
  EXPECT_EQ(*read_file(folder + "/a.csv"), "x\n1\n");
  EXPECT_EQ(*read_file(folder + "/b.csv"), "");
  EXPECT_NE(shorten_tables(folder, tables, {5, 0}).error().message.find("found 4"), std::string::npos);
  ASSERT_TRUE(write_file(folder + "/a.csv", "x\n1,\n\n"));
  const auto refused = shorten_tables(folder, tables, {5, 0});
  EXPECT_EQ(refused.error().message,
            "'" + folder +
                "/a.csv', line 2: expected a row of 1 value, found '1,'; it was changed after the run: restore "
                "it, or start the run again in another folder");
  EXPECT_EQ(*read_file(folder + "/a.csv"), "x\n1,\n\n");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plx
