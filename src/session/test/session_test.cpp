#include "session/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "probe/record/test/temporary_test.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::probe {
namespace {

TEST(Session, WritesRequestedFilesAtTheEnd) {
  const std::string folder = temporary_path("session");
  std::filesystem::remove_all(folder);
  recorder r(1);
  counter_registry counters;
  {
    session s(r, counters, {.output = folder, .profile = "csv", .trace = true});
    r.worker(0).record({.name = register_name("work"), .begin = now_ticks(), .end = now_ticks() + 1000});
    ASSERT_TRUE(s.finish());
  }
  EXPECT_TRUE(std::filesystem::exists(folder + "/profile.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/waits.csv"));
  const auto trace = load_trace({folder + "/trace.plxt"});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->trace.data.workers.at(0).size(), 1u);
  EXPECT_TRUE(trace->warnings.empty());
}

TEST(Session, WritesDuringTheRunAndAtTheEnd) {
  const std::string folder = temporary_path("session_twice");
  std::filesystem::remove_all(folder);
  recorder r(1);
  counter_registry counters;
  session s(r, counters, {.output = folder, .profile = "csv", .diagnose = true});
  ASSERT_TRUE(s.write_now());
  const auto before = std::filesystem::file_size(folder + "/profile.csv");
  r.worker(0).record({.name = register_name("work"), .begin = 0, .end = 1000});
  ASSERT_TRUE(s.finish());
  EXPECT_GT(std::filesystem::file_size(folder + "/profile.csv"), before);
  ASSERT_TRUE(s.write_now());  // has no effect any more
}

TEST(Session, WithoutRequestsNoFolderIsCreated) {
  const std::string folder = temporary_path("no_session");
  std::filesystem::remove_all(folder);
  recorder r(1);
  counter_registry counters;
  { session s(r, counters, {.output = folder}); }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Session, AFolderThatCannotBeCreatedIsAnErrorOfOneLine) {
  recorder r(1);
  counter_registry counters;
  session s(r, counters, {.output = "/proc/no/such", .profile = "csv"});
  const auto done = s.finish();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("/proc/no/such"), std::string::npos);
}

TEST(Session, TheTraceIsWrittenWhileTheProgramRuns) {
  const std::string folder = temporary_path("session_trace");
  std::filesystem::remove_all(folder);
  recorder r(1);
  counter_registry counters;
  session s(r, counters, {.output = folder, .trace = true});
  r.worker(0).record({.name = register_name("work"), .begin = now_ticks(), .end = now_ticks() + 1000});
  while (load_trace({folder + "/trace.plxt"}).value().trace.data.records == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(s.finish());
}

TEST(Session, TracesOfOtherLocalitiesOfAnEarlierRunAreRemoved) {
  const std::string folder = temporary_path("session_again");
  std::filesystem::remove_all(folder);
  recorder r(1);
  counter_registry counters;
  const auto run = [&](unsigned locality, const std::string& output) {
    session s(r, counters, {.output = output, .trace = true, .locality = locality, .localities = 2});
  };
  run(0, folder), run(1, folder + "/localities/1"), run(0, folder);
  EXPECT_EQ(trace_files(folder)->size(), 2u);
  { session s(r, counters, {.output = folder, .trace = true}); }
  EXPECT_EQ(trace_files(folder)->size(), 1u);
  std::filesystem::remove_all(folder);
}

TEST(Session, WithoutAFileForTheTraceTheProgramGoesOn) {
  const std::string folder = temporary_path("session_no_trace");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/trace.plxt");
  recorder r(1);
  counter_registry counters;
  testing::internal::CaptureStderr();
  {
    session s(r, counters, {.output = folder, .trace = true});
    r.worker(0).record({.name = register_name("work"), .begin = now_ticks(), .end = now_ticks() + 1000});
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("trace.plxt': Is a directory"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(r.trace_lost(), 0u);
}

TEST(Session, FilesThatCannotBeWrittenAreReportedWithoutALog) {
  recorder r(1);
  counter_registry counters;
  testing::internal::CaptureStderr();
  { session s(r, counters, {.output = "/proc/no/such", .profile = "csv"}); }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("plx: the measurement could not be written: ")) << text;
  EXPECT_NE(text.find("/proc/no/such"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

}  // namespace
}  // namespace plx::probe
