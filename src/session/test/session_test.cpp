#include "session/session.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "trace/file/trace_reader.hpp"

namespace {
std::atomic<int> syncs{0};
}
/// In place of the C library's.
extern "C" int fsync(int descriptor) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
extern "C" int fdatasync(int descriptor) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

namespace plx::probe {
namespace {

TEST(Session, DoesNotWaitForTheDisk) {
  const std::string folder = temporary_path("session_unsynced");
  std::filesystem::remove_all(folder);
  recorder r(1);
  counter_registry counters;
  session s(r, counters, {.output = folder, .profile = "csv,tau", .trace = true, .diagnose = true});
  r.worker(0).record({.name = register_name("work"), .begin = now_ticks(), .end = now_ticks() + 1000});
  syncs = 0;
  const auto done = s.finish();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(syncs, 0);
}

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

TEST(Session, ATracedRunWritesItsFlameGraphUnlessTheTraceIsLarge) {
  for (const std::uint64_t n : {std::uint64_t{3}, (std::uint64_t{1} << 18) + 1}) {
    const std::string folder = temporary_path("session_flame" + std::to_string(n));
    std::filesystem::remove_all(folder);
    recorder r(1);
    counter_registry counters;
    session s(r, counters, {.output = folder, .trace = true, .trace_records = std::int64_t{1} << 20});
    const ticks begin = now_ticks();
    const name_id name = register_name("flame task");
    for (std::uint64_t i = 0; i < n; ++i)
      r.worker(0).record(
          {.name = name, .begin = begin + 10 * i, .end = begin + 10 * i + 9, .id = r.worker(0).next_id()});
    testing::internal::CaptureStderr();
    ASSERT_TRUE(s.finish());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("plx-trace flame '" + folder + "' makes it\n") != std::string::npos, n != 3) << said;
    const auto svg = read_file(folder + "/flame.svg");
    ASSERT_EQ(svg.has_value(), n == 3);
    if (svg) {
      EXPECT_NE(svg->find("flame task"), std::string::npos);
    }
  }
}

TEST(Session, PicturesAndStacksOfAnEarlierRunAreRemoved) {
  const std::string folder = temporary_path("session_stale");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::vector<std::string> names = {"flame.svg", "stacks.svg", "stacks.csv", "stacks.collapsed"};
  recorder r(1);
  counter_registry counters;
  for (const std::string& name : names) ASSERT_TRUE(write_file(folder + "/" + name, "earlier"));
  { session s(r, counters, {.output = folder}); }  // writes no files
  EXPECT_TRUE(std::filesystem::exists(folder + "/flame.svg"));
  { session s(r, counters, {.output = folder, .profile = "csv"}); }
  for (const std::string& name : names) EXPECT_FALSE(std::filesystem::exists(folder + "/" + name)) << name;
}

TEST(Session, MoreTablesPrecedeTheStacks) {
  const std::string folder = temporary_path("session_order");
  std::filesystem::remove_all(folder);
  recorder r(1);
  counter_registry counters;
  session s(r, counters, {.output = folder, .profile = "csv", .sample_stacks_hz = 100});
  if (s.stacks() == nullptr) GTEST_SKIP() << "no stacks are sampled here";
  struct seen {
    const std::string& folder;
    bool profile = false, stacks = true;
  } there{folder};
  const auto look = [](void* to) -> result<void> {
    auto& now = *static_cast<seen*>(to);
    now.profile = std::filesystem::exists(now.folder + "/profile.csv");
    now.stacks = std::filesystem::exists(now.folder + "/stacks.csv");
    return error{"a table of the program"};
  };
  const auto done = s.finish({.dying = true, .tables = look, .context = &there});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "a table of the program");
  EXPECT_TRUE(there.profile);
  EXPECT_FALSE(there.stacks);
  EXPECT_TRUE(std::filesystem::exists(folder + "/stacks.csv"));
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

TEST(Session, WithoutAFileForTheTraceTheProgramContinues) {
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

/// The energy of a package, in the layout of sysfs: it grows by 6 J while one of two workers runs a task.
TEST(Session, EnergyIsDividedAmongTaskTypes) {
  const std::string root = temporary_path("session_powercap"), folder = temporary_path("session_energy");
  std::filesystem::create_directories(root + "/intel-rapl:0");
  const auto energy = [&](const char* uj) { ASSERT_TRUE(write_file(root + "/intel-rapl:0/energy_uj", uj)); };
  ASSERT_TRUE(write_file(root + "/intel-rapl:0/name", "package-0\n"));
  energy("1000000");
  recorder r(2);
  counter_registry counters;
  const auto kept = add_energy_counters(counters, root);
  session s(r, counters, {.output = folder, .profile = "csv", .trace = true});
  const ticks begin = now_ticks();
  energy("7000000");
  // Longer than the interval, however late its end is measured.
  r.worker(0).record({.name = register_name("hot"), .begin = begin, .end = begin + ticks_from(3600)});
  ASSERT_TRUE(s.finish());
  const std::string profile = read_file(folder + "/profile.csv").value(),
                    summary = read_file(folder + "/measurement.json").value();
  EXPECT_NE(profile.find(",p99_s,energy_j\nhot,1,"), std::string::npos) << profile;
  const double hot_j = std::stod(profile.substr(profile.rfind(',') + 1));
  EXPECT_NEAR(hot_j, 3, 1e-4);
  const std::size_t at = summary.find("\"energy_j\":{\"tasks\":");
  ASSERT_NE(at, std::string::npos) << summary;
  EXPECT_NEAR(std::stod(summary.substr(at + 20)), hot_j, 1e-6);
  EXPECT_NEAR(std::stod(summary.substr(summary.find("\"no_task\":", at) + 10)), 6 - hot_j, 1e-6);
  const auto trace = load_trace({folder + "/trace.plxt"});
  ASSERT_TRUE(trace && !trace->trace.data.samples.empty());
  EXPECT_EQ(trace->trace.data.samples.front().value, 0);
  EXPECT_NEAR(trace->trace.data.samples.back().value, 6, 1e-9);
}

TEST(Session, WithoutEnergyCountersNothingIsWrittenAboutEnergy) {
  const std::string folder = temporary_path("session_no_energy");
  recorder r(1);
  counter_registry counters;
  session s(r, counters, {.output = folder, .profile = "csv"});
  ASSERT_TRUE(s.finish());
  EXPECT_EQ(read_file(folder + "/profile.csv").value().find("energy"), std::string::npos);
  EXPECT_EQ(read_file(folder + "/measurement.json").value().find("energy"), std::string::npos);
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
