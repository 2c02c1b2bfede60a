#include "probe/live/live_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST(MetricsText, BlameAndDurationsByTaskType) {
  const counter_registry c;
  recorder r(2);
  EXPECT_EQ(metrics_text(c, r), "");
  const name_id name = register_name("set \"up\"");
  for (unsigned i = 0; i < 100; ++i)
    r.worker(i % 2).record({.name = name, .begin = 0, .end = ticks_from(i < 90 ? 3e-6 : 20)});
  r.worker(1).held_up(name, ticks_from(0.25));
  const std::string text = metrics_text(c, r), label = "{task=\"set \\\"up\\\"\"";
  EXPECT_THAT(text, StartsWith("# HELP plx_task_duration_seconds Durations of finished tasks of this type\n"
                               "# TYPE plx_task_duration_seconds histogram\n"
                               "plx_task_duration_seconds_bucket" +
                               label + ",le=\"1e-07\"} 0\n"));
  for (const char* sample : {"le=\"2e-06\"} 0", "le=\"5e-06\"} 90", "le=\"10\"} 90", "le=\"+Inf\"} 100"})
    EXPECT_THAT(text, HasSubstr("plx_task_duration_seconds_bucket" + label + "," + sample + "\n"));
  EXPECT_THAT(text, HasSubstr("plx_task_duration_seconds_count" + label + "} 100\n"));
  const std::size_t sum = text.find("plx_task_duration_seconds_sum" + label + "} ");
  ASSERT_NE(sum, std::string::npos);
  EXPECT_NEAR(std::stod(text.substr(text.find("} ", sum) + 2)), 90 * 3e-6 + 10 * 20, 1e-4);
  EXPECT_THAT(text, HasSubstr("# HELP plx_task_idle_blame_seconds_total Idle time of workers while a task of this type "
                              "ran, as far as it is "
                              "charged to it\n"
                              "# TYPE plx_task_idle_blame_seconds_total counter\n"
                              "plx_task_idle_blame_seconds_total" +
                              label +
                              "} 0\n"
                              "# HELP plx_task_lock_blame_seconds_total Time for which tasks waited for a lock that a "
                              "task of this type held\n"
                              "# TYPE plx_task_lock_blame_seconds_total counter\n"
                              "plx_task_lock_blame_seconds_total" +
                              label + "} 0.2"));
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
