#include "trace/task_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/monitor/machine_limits.hpp"
#include "probe/monitor/task_counts.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "trace/test/json_reader_test.hpp"

namespace plx::probe {
namespace {

class TaskFiles : public testing::Test {
 protected:
  TaskFiles() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    rec_.trace(true, 64);
    const ticks now = now_ticks();
    rec_.worker(0).record({.name = register_name("tf work"), .begin = now, .end = now + 100, .id = 1});
    rec_.worker(1).record({.name = register_name("tf more"),
                           .begin = now + 200,
                           .end = now + 300,
                           .id = 2,
                           .cause = 1,
                           .ready = now + 99});
  }
  ~TaskFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] bool there(const std::string& name) const { return std::filesystem::exists(folder_ + "/" + name); }

  std::string folder_ = temporary_path("task_files");
  recorder rec_{2};
};

TEST_F(TaskFiles, EachSettingGivesAFileListedInTheSummary) {
  testing::internal::CaptureStdout();
  const auto done = write_task_files(rec_, {.output = folder_, .profile = "screen,csv,tau", .trace = true});
  const std::string screen = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(screen, testing::HasSubstr("tf work"));
  for (const char* name : {"profile.csv", "waits.csv", "tau/profile.0.0.1", "measurement.json"})
    EXPECT_TRUE(there(name)) << name;
  const json j = json_reader::read(read_file(folder_ + "/measurement.json").value());
  EXPECT_EQ(j["tasks"].number, 2);
  EXPECT_EQ(j["trace"]["records_lost"].number, 0);
  EXPECT_FALSE(j["trace"].has("failure"));
  EXPECT_GE(j["measuring_cost"].number, 0);
  EXPECT_EQ(j["files"].list.size(), 3u);
  EXPECT_FALSE(j["files"].list[0].has("failure"));
}

TEST_F(TaskFiles, CountsAndLimitsAreInTheSummary) {
  std::string logged;
  log_to_function([](void* to, log_level, std::string_view text) { *static_cast<std::string*>(to) += text; }, &logged,
                  log_level::warning);
  counts_of_tasks counts{.events = {{"page-faults", 1}}, .by_name = {}};
  counts.total = {1000};
  counts.no_task = {400};
  counts.counted = 0.5;
  counts.failed_reads = 2;
  const machine_limits limits{.threads = 2, .vector_bits = 512, .flops_per_s = 1e11, .bytes_per_s = 2e10};
  ASSERT_TRUE(write_task_files(rec_, {.output = folder_}, {.counts = &counts, .limits = &limits}));
  log_to_function(nullptr, nullptr, log_level::none);
  EXPECT_THAT(logged, testing::HasSubstr("events were counted for 50 % of the time"));
  EXPECT_THAT(logged, testing::HasSubstr("could not be read at 2 boundaries"));
  const json j = json_reader::read(read_file(folder_ + "/measurement.json").value());
  EXPECT_EQ(j["perf"]["counted"].number, 0.5);
  EXPECT_EQ(j["perf"]["events"]["page-faults"]["tasks"].number, 600);
  EXPECT_EQ(j["perf"]["events"]["page-faults"]["no_task"].number, 400);
  EXPECT_EQ(j["limits"]["flops_per_s"].number, 1e11);
  EXPECT_EQ(j["limits"]["threads"].number, 2);
}

TEST_F(TaskFiles, DroppedRecordsAreReportedWithTheSettingThatHelps) {
  std::string logged;
  log_to_function([](void* to, log_level, std::string_view text) { *static_cast<std::string*>(to) += text; }, &logged,
                  log_level::warning);
  recorder slow(1);
  slow.trace(true, 4);
  for (int i = 0; i < 8; ++i) slow.worker(0).record({.name = 1, .begin = 1, .end = 2});
  slow.drain();
  (void)write_task_files(slow, {.output = folder_, .trace = true, .trace_records = 4},
                         {.trace_error = "the disk \"x\" is full", .unwritten = 1});
  EXPECT_THAT(logged, testing::HasSubstr(
                          "4 of 8 trace records were dropped (buffer of a worker full): set trace-records above 4"));
  log_to_function(nullptr, nullptr, log_level::none);
  const json j = json_reader::read(read_file(folder_ + "/measurement.json").value());
  EXPECT_EQ(j["trace"]["records"].number, 3);
  EXPECT_EQ(j["trace"]["records_lost"].number, 5);
  EXPECT_EQ(j["trace"]["failure"].text, "the disk \"x\" is full");
}

TEST_F(TaskFiles, AFailedFileIsReportedAndTheOthersAreWritten) {
  std::filesystem::create_directories(folder_ + "/profile.csv/in the way");
  const auto done = write_task_files(rec_, {.output = folder_, .profile = "csv"});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, testing::HasSubstr("profile.csv"));
  EXPECT_TRUE(there("waits.csv"));
  const json j = json_reader::read(read_file(folder_ + "/measurement.json").value());
  EXPECT_TRUE(j["files"].list[0].has("failure"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
}

TEST_F(TaskFiles, ARemovedFolderIsOneError) {
  std::filesystem::remove_all(folder_);
  const auto done = write_task_files(rec_, {.output = folder_, .profile = "csv"});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, testing::HasSubstr("No such file or directory"));
  EXPECT_FALSE(there(""));
}

}  // namespace
}  // namespace plx::probe
