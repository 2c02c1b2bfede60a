#include "trace/task_plots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

std::string written(const trace_data& d, double share) {
  const std::string path = temporary_path("scatter.csv");
  EXPECT_TRUE(write_scatter_csv(d, trace_graph(d), share, path));
  return read_file(path).value();
}

TEST(Scatter, ListsEachTaskOnceWithItsTotalTime) {
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

TEST(Scatter, SelectsTheSameShareOfTasksEachTime) {
  trace_builder b(1);
  for (task_id i = 1; i <= 20'000; ++i) b.task(0, i, "sc b", 10 * i, 10 * i + 5);
  const std::string text = written(b.data, 0.01);
  const auto rows = std::count(text.begin(), text.end(), '\n') - 1;
  EXPECT_NEAR(static_cast<double>(rows), 200, 60);
  EXPECT_EQ(written(b.data, 0.01), text);
  EXPECT_EQ(std::ranges::count(written(b.data, 0), '\n'), 1);
  for (trace_slice& s : b.data.workers[0]) s.every = 100;
  EXPECT_EQ(std::ranges::count(written(b.data, 0.01), '\n'), 20'001) << "already sampled";
}

/// 40,000 tasks, of which the first half was traced completely and one in ten of the second half: the file has the same
/// share of both halves, a hundredth if requested, and all of the second half if more is requested.
TEST(Scatter, TheShareIsConstantWhenTracingIsReduced) {
  constexpr task_id half = 20'000;
  trace_builder b(1);
  for (task_id i = 1; i <= half; ++i) b.task(0, i, "sc d", i, i + 1).task(0, half + i, "sc e", i, i + 1);
  for (task_id i = 2 * half + 1; i <= 3 * half; i += 10) b.task(0, i, "sc d", i, i + 1).every(10);
  for (const double share : {0.01, 0.1, 0.5}) {
    unsigned first = 0, second = 0, other = 0;
    const std::string text = written(b.data, share);
    for (std::size_t at = text.find('\n') + 1, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const std::string row = text.substr(at, end - at);
      std::vector<std::string> fields{""};
      for (const char c : row) c == ',' ? void(fields.emplace_back()) : void(fields.back() += c);
      ++(fields[1] == "sc e" ? other : std::stoull(fields[4]) <= half ? first : second);
    }
    const double expected = std::min(share, 0.1) * static_cast<double>(half);
    EXPECT_NEAR(first, expected, 4 * std::sqrt(expected)) << share;
    EXPECT_NEAR(second, expected, 4 * std::sqrt(expected)) << share;
    EXPECT_NEAR(other, share * static_cast<double>(half), 4 * std::sqrt(share * half))
        << "of a task type that was traced completely";
  }
}

TEST(Scatter, AFullDiskIsOneLine) {
  trace_builder b(1);
  b.task(0, 1, "sc c", 1, 2);
  EXPECT_EQ(write_scatter_csv(b.data, trace_graph(b.data), 1, "/dev/full").error().message,
            "cannot write '/dev/full': No space left on device");
}

}  // namespace
}  // namespace plx::probe
