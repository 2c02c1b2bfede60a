#include "star/output/trace_window.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <limits>
#include <thread>

#include "base/file.hpp"
#include "base/test/timeout_test.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::star {
namespace {

// No window ends because a step takes long.
constexpr double any_time = std::numeric_limits<double>::infinity();

void step(runtime& rt) {
  static const probe::name_id name = probe::register_name("relax");
  rt.run([] {
    task_group g;
    for (std::uint64_t i = 0; i < 10; ++i) g.run(task_info{name, i}, [] {});
    g.wait();
  });
}

struct TraceWindow : testing::Test {
  using steps = trace_window::steps;

  TraceWindow() { std::filesystem::create_directories(folder); }
  ~TraceWindow() override { std::filesystem::remove_all(folder); }

  const std::string folder = probe::temporary_path("trace_window"), path = folder + "/trace.plxt";
  runtime rt{{.workers = 2}};
  /// Waits until the last slice of the newest step is recorded, which is after step() has returned.
  void finish_recording() {
    ASSERT_TRUE(comes_true([&] { return rt.get_scheduler().active_workers() == 0; }));
  }
  std::size_t slices(const trace_window& w) const {
    std::size_t n = 0;
    for (const auto& worker : w.data().workers) n += worker.size();
    return n;
  }
};

TEST_F(TraceWindow, KeepsSomeStepsAndDiscardsTheRest) {
  trace_window window(rt.recorder(), steps::windows, path, 0, 1, any_time);
  for (int i = 1; i <= 6; ++i) {
    step(rt);
    window.after_step(i);
  }
  finish_recording();
  ASSERT_TRUE(window.end());
  EXPECT_EQ(window.first_step(), 2);  // it opens after the first
  EXPECT_EQ(window.last_step(), 6);
  EXPECT_GE(slices(window), 5u * 11u);
  EXPECT_EQ(window.data().lost, 0u);
  EXPECT_EQ(rt.recorder().collect_trace().records, 0u);
  EXPECT_EQ(probe::load_trace({path})->trace.data.records, window.data().records);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST_F(TraceWindow, WritesAllSteps) {
  rt.recorder().trace(true);
  step(rt);
  trace_window window(rt.recorder(), steps::all, path);
  ASSERT_TRUE(window.begin());
  for (int i = 1; i <= 3; ++i) {
    step(rt);
    window.after_step(i);
  }
  finish_recording();
  ASSERT_TRUE(window.end());
  EXPECT_GE(slices(window), 4u * 11u);
  EXPECT_EQ(probe::load_trace({path})->trace.data.records, window.data().records);
}

TEST_F(TraceWindow, ATraceOfAllStepsIsWrittenDuringAStep) {
  trace_window window(rt.recorder(), steps::all, path);
  ASSERT_TRUE(window.begin());
  rt.recorder().trace(true);
  step(rt);
  while (probe::load_trace({path}).value().trace.data.records == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(window.end());
}

TEST_F(TraceWindow, EndsAfterTheFirstStepThatExceedsItsTime) {
  trace_window window(rt.recorder(), steps::windows, path, 0, 1, 0);
  for (int i = 1; i <= 6; ++i) {
    step(rt);
    window.after_step(i);
  }
  ASSERT_TRUE(window.end());
  EXPECT_EQ(window.first_step(), 4);  // windows 2, 4 and 6: the last one has not begun
  EXPECT_EQ(window.last_step(), 4);
}

TEST_F(TraceWindow, OfAnotherLocalityLeavesNoFile) {
  trace_window window(rt.recorder(), steps::windows, path, 1, 2);
  int i = 0;
  while (window.last_step() == 0) step(rt), window.after_step(++i);
  ASSERT_TRUE(window.end());
  EXPECT_GT(window.data().records, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(TraceWindow, AFolderThatVanishedIsAnError) {
  trace_window window(rt.recorder(), steps::windows, folder + "/no/trace.plxt");
  for (int i = 1; i <= 3; ++i) {
    step(rt);
    window.after_step(i);
  }
  EXPECT_FALSE(window.end());
}

TEST_F(TraceWindow, OpensAgainWhenTheStepsHaveDoubled) {
  trace_window window(rt.recorder(), steps::windows, path, 0, 1, any_time);
  int i = 0;
  const auto many = [&](std::uint64_t records) {
    for (std::uint64_t n = 0; n < records / 20; ++n) {
      ++i;
      step(rt);
      window.after_step(i);
    }
  };
  many(2 * trace_window::most_records);
  EXPECT_GT(window.last_step(), 0);
  const auto first = window.first_step();
  many(8 * trace_window::most_records);
  ASSERT_TRUE(window.end());
  EXPECT_GE(window.first_step() - 1, 2 * (first - 1));  // the steps before each window
  EXPECT_LE(window.data().records, trace_window::most_records + 1000);
}

TEST_F(TraceWindow, DoesNothingIfTracingIsInUse) {
  rt.recorder().trace(true);
  trace_window window(rt.recorder(), steps::nothing, path);
  for (int i = 1; i <= 3; ++i) {
    step(rt);
    window.after_step(i);
  }
  ASSERT_TRUE(window.end());
  EXPECT_EQ(window.data().records, 0u);
  EXPECT_GT(rt.recorder().collect_trace().records, 0u);
}

TEST_F(TraceWindow, WritesItsTables) {
  trace_window window(rt.recorder(), steps::windows, path);
  for (int i = 1; i <= 4; ++i) {
    step(rt);
    window.after_step(i);
  }
  ASSERT_TRUE(window.end());
  ASSERT_TRUE(write_task_tables(window.data(), folder, 7));
  const std::string text = read_file(folder + "/timeline.csv").value();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);
  EXPECT_EQ(text.substr(0, text.find('\n')), "worker,name,key,begin_s,end_s,device");
  for (const char* name : {"concurrency.csv", "scatter.csv", "critical_path.csv", "critical_path.json"})
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + name)) << name;
  EXPECT_FALSE(write_task_tables(window.data(), "/proc/no/such"));
}

}  // namespace
}  // namespace plx::star
