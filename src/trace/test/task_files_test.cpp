#include "trace/task_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/text_sink.hpp"
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
  const auto done = write_task_files(rec_, {.output = folder_,
                                            .profile = "screen,csv,tau",
                                            .trace = "json",
                                            .tree = true,
                                            .graph = true,
                                            .concurrency = true,
                                            .critical_path = true,
                                            .scatter = 1});
  const std::string screen = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(screen, testing::HasSubstr("tf work"));
  EXPECT_THAT(screen, testing::HasSubstr("critical path"));
  for (const std::string& name : std::initializer_list<std::string>{
           "profile.csv", "waits.csv", "tau/profile.0.0.1", text_sink::compressed_name("trace.json"), "scatter.csv",
           "concurrency.csv", "tree.txt", "tree.csv", "graph.dot", "critical_path.csv", "critical_path.json",
           "measurement.json"})
    EXPECT_TRUE(there(name)) << name;
  const json j = json_reader::read(read_file(folder_ + "/measurement.json").value());
  EXPECT_EQ(j["tasks"].number, 2);
  EXPECT_EQ(j["trace"]["tasks"].number, 2);
  EXPECT_EQ(j["trace"]["edges"].number, 1);
  EXPECT_EQ(j["trace"]["records_lost"].number, 0);
  EXPECT_GE(j["measuring_cost"].number, 0);
  EXPECT_EQ(j["files"].list.size(), 11u);
  EXPECT_FALSE(j["files"].list[0].has("failure"));
}

TEST_F(TaskFiles, DroppedRecordsAreReportedWithTheSettingThatHelps) {
  std::string logged;
  log_to_function([](void* to, log_level, std::string_view text) { *static_cast<std::string*>(to) += text; }, &logged,
                  log_level::warning);
  recorder full(1), slow(1);
  full.trace(true, 1024), slow.trace(true, 4);
  full.set_trace_limit(3);
  for (int i = 0; i < 8; ++i)
    for (recorder* r : {&full, &slow}) r->worker(0).record({.name = 1, .begin = 1, .end = 2});
  for (recorder* r : {&full, &slow}) {
    (void)write_task_files(*r, {.output = folder_, .trace_records = 4, .trace_limit = 3, .concurrency = true});
    EXPECT_THAT(logged,
                testing::HasSubstr(r == &full ? "5 of 8 trace records were dropped (trace full): set trace-limit"
                                              : "4 of 8 trace records were dropped (buffer of a worker full): set "
                                                "trace-records above 4"));
    logged.clear();
  }
  log_to_function(nullptr, nullptr, log_level::none);
}

TEST_F(TaskFiles, AFailedFileIsReportedAndTheOthersAreWritten) {
  std::filesystem::create_directories(folder_ + "/tree.txt/in the way");
  const auto done = write_task_files(rec_, {.output = folder_, .tree = true, .graph = true});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, testing::HasSubstr("tree.txt"));
  EXPECT_TRUE(there("graph.dot"));
  const json j = json_reader::read(read_file(folder_ + "/measurement.json").value());
  EXPECT_TRUE(j["files"].list[0].has("failure"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
}

TEST_F(TaskFiles, ARemovedFolderIsOneError) {
  std::filesystem::remove_all(folder_);
  const auto done = write_task_files(rec_, {.output = folder_, .profile = "csv", .trace = "json"});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, testing::HasSubstr("No such file or directory"));
  EXPECT_FALSE(there(""));
}

TEST_F(TaskFiles, DroppedRecordsAreCounted) {
  for (int i = 0; i < 200; ++i) rec_.worker(0).record({.begin = 1, .end = 2});
  ASSERT_TRUE(write_task_files(rec_, {.output = folder_, .concurrency = true}));
  const json j = json_reader::read(read_file(folder_ + "/measurement.json").value());
  // One record each; the two of the fixture, with numbers of a process' first recorder, have two if other recorders
  // exist.
  const double records = j["trace"]["records"].number + j["trace"]["records_lost"].number;
  EXPECT_THAT(records, testing::AnyOf(202, 204));
  EXPECT_GT(j["trace"]["records_lost"].number, 0);
}

}  // namespace
}  // namespace plx::probe
