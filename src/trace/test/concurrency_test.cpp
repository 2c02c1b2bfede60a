#include "trace/task_plots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

using testing::ElementsAre;

TEST(Concurrency, MeansOverCellsWithoutLosingTime) {
  trace_builder b(2);
  b.data.origin = 1000;
  b.task(0, 1, "cc long", 1000, 1040).task(1, 2, "cc long", 1010, 1015).task(1, 3, "cc short", 1035, 1040);
  const concurrency c = concurrency_over_time(b.data, 4);
  ASSERT_EQ(c.names.size(), 2u);
  EXPECT_EQ(name_of(c.names[0]), "cc long");
  EXPECT_THAT(c.running[0], ElementsAre(1, 1.5, 1, 1));
  EXPECT_THAT(c.running[1], ElementsAre(0, 0, 0, 0.5));
  EXPECT_THAT(c.other, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(c.begin_s, 0);
  EXPECT_NEAR(c.cell_s, seconds(10), 1e-15);
}

TEST(Concurrency, SmallKindsAreOther) {
  trace_builder b(1);
  for (task_id i = 0; i < 30; ++i) b.task(0, i + 1, "cc " + std::to_string(i), 10 * i, 10 * i + 10);
  const concurrency c = concurrency_over_time(b.data, 10, 5);
  EXPECT_EQ(c.names.size(), 5u);
  double sum = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    sum += c.other[i];
    for (const auto& row : c.running) sum += row[i];
  }
  EXPECT_NEAR(sum, 10, 1e-9) << "one worker, always busy";
}

TEST(Concurrency, CsvHasAColumnPerKind) {
  trace_builder b(1);
  b.task(0, 1, "cc a, b", 0, 10);
  const std::string path = temporary_path("concurrency.csv");
  ASSERT_TRUE(write_concurrency_csv(b.data, path, 2));
  EXPECT_THAT(read_file(path).value(), testing::MatchesRegex("time_s,running,\"cc a, b\",other\n"
                                                             "[^,]*,1,1,0\n[^,]*,1,1,0\n"));
  ASSERT_TRUE(write_concurrency_csv(trace_data{}, path));
  EXPECT_EQ(read_file(path).value(), "time_s,running,other\n");
  EXPECT_FALSE(write_concurrency_csv(b.data, "/dev/full"));
}

}  // namespace
}  // namespace plx::probe
