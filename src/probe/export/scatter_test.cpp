#include "probe/export/scatter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.hpp"
#include "probe/temporary_test.hpp"
#include "probe/trace_builder_test.hpp"

namespace plx::probe {
namespace {

std::string written(const trace_data& d, double share) {
  const std::string path = temporary_path("scatter.csv");
  EXPECT_TRUE(write_scatter_csv(d, trace_graph(d), share, path));
  return read_file(path).value();
}

TEST(Scatter, EachTaskOnceWithAllItsTime) {
  trace_builder b(2);
  b.data.origin = 100;
  b.piece(0, 5, "sc a", 200, 300, false).key(9).ready(150).piece(1, 5, "sc a", 400, 450, true, true);
  b.data.samples = {{300, "queue", 2.5}};
  const std::string text = written(b.data, 1);
  const double begin = seconds(100), length = seconds(150), wait = seconds(50), when = seconds(200);
  char expected[400];
  std::snprintf(expected, sizeof expected,
                "kind,name,begin_s,value,id,key,worker,wait_s\ntask,sc a,%.9f,%.9f,5,9,0,%.9f\n"
                "counter,queue,%.9f,2.5,,,,\n",
                begin, length, wait, when);
  EXPECT_EQ(text, expected);
}

TEST(Scatter, AShareOfTheTasksAndTheSameEachTime) {
  trace_builder b(1);
  for (task_id i = 1; i <= 20'000; ++i) b.task(0, i, "sc b", 10 * i, 10 * i + 5);
  const std::string text = written(b.data, 0.01);
  const auto rows = std::count(text.begin(), text.end(), '\n') - 1;
  EXPECT_NEAR(static_cast<double>(rows), 200, 60);
  EXPECT_EQ(written(b.data, 0.01), text);
  b.data.share = 0.01;
  EXPECT_EQ(std::ranges::count(written(b.data, 0.01), '\n'), 20'001) << "it is a sample already";
  EXPECT_EQ(std::ranges::count(written(b.data, 0), '\n'), 1);
}

TEST(Scatter, AFullDiskIsOneLine) {
  trace_builder b(1);
  b.task(0, 1, "sc c", 1, 2);
  EXPECT_EQ(write_scatter_csv(b.data, trace_graph(b.data), 1, "/dev/full").error().message,
            "cannot write '/dev/full': No space left on device");
}

}  // namespace
}  // namespace plx::probe
