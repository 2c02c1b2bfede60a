#include "probe/live/live_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsText, NamesUnitsTypesAndLabels) {
  counter_registry c;
  const auto a =
      c.add({"/threads{locality#0/worker-thread#1}/time/exec", "s", "Time in tasks", true}, [] { return 1.5; });
  const auto b = c.add({"/machine/memory/resident", "bytes", "Memory"}, [] { return 4096; });
  const auto d = c.add({"/threads{locality#0/total}/time/exec", "s", "Time in tasks", true}, [] { return 9; });
  const auto e = c.add({"/mesh{locality#0/total}/count/blocks", "1", "Blocks"}, [] { return 64; });
  EXPECT_EQ(metrics_text(c),
            "# HELP plx_machine_memory_resident_bytes Memory\n"
            "# TYPE plx_machine_memory_resident_bytes gauge\n"
            "plx_machine_memory_resident_bytes 4096\n"
            "# HELP plx_mesh_count_blocks Blocks\n"
            "# TYPE plx_mesh_count_blocks gauge\n"
            "plx_mesh_count_blocks{locality=\"0\"} 64\n"
            "# HELP plx_threads_time_exec_seconds_total Time in tasks\n"
            "# TYPE plx_threads_time_exec_seconds_total counter\n"
            "plx_threads_time_exec_seconds_total{locality=\"0\",worker=\"1\"} 1.5\n");  // without the total
}

TEST(MetricsText, EscapesSpecialCharacters) {
  counter_registry c;
  const auto a = c.add({"/a{kind#x\"y\\z}/b@p", "1", "two\nlines \\ \"quoted\""}, [] { return 1; });
  const std::string text = metrics_text(c);
  EXPECT_THAT(text, HasSubstr("plx_a_b{kind=\"x\\\"y\\\\z\",parameters=\"p\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# HELP plx_a_b two\\nlines \\\\ \"quoted\"\n"));
}

TEST(MetricsText, ValuesThatAreNotNumbers) {
  counter_registry c;
  const auto a = c.add({"/a/nan"}, [] { return std::nan(""); });
  const auto b = c.add({"/a/up"}, [] { return std::numeric_limits<double>::infinity(); });
  const auto d = c.add({"/a/down"}, [] { return -std::numeric_limits<double>::infinity(); });
  const std::string text = metrics_text(c);
  EXPECT_THAT(text, HasSubstr("plx_a_nan NaN\n"));
  EXPECT_THAT(text, HasSubstr("plx_a_up +Inf\n"));
  EXPECT_THAT(text, HasSubstr("plx_a_down -Inf\n"));
}

TEST(MetricsText, BlameByTaskType) {
  const counter_registry c;
  EXPECT_EQ(metrics_text(c, {}), "");
  EXPECT_EQ(
      metrics_text(c, {{.name = "set \"up\"", .blamed_s = 1.5, .lock_waits_s = 0.25}}),
      "# HELP plx_task_idle_blame_seconds_total Idle time of workers while a task of this type ran, as far as it is "
      "charged to it\n"
      "# TYPE plx_task_idle_blame_seconds_total counter\n"
      "plx_task_idle_blame_seconds_total{task=\"set \\\"up\\\"\"} 1.5\n"
      "# HELP plx_task_lock_blame_seconds_total Time for which tasks waited for a lock that a task of this type held\n"
      "# TYPE plx_task_lock_blame_seconds_total counter\n"
      "plx_task_lock_blame_seconds_total{task=\"set \\\"up\\\"\"} 0.25\n");
}

TEST(MetricsText, NoSampleTwice) {
  counter_registry c;
  const auto a = c.add({"/a/b-c"}, [] { return 1; });
  const auto b = c.add({"/a/b.c"}, [] { return 2; });
  const std::string text = metrics_text(c);
  EXPECT_THAT(text, HasSubstr("plx_a_b_c 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("plx_a_b_c 2\n")));
}

}  // namespace
}  // namespace plx::probe
