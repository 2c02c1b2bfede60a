#include "session/diagnose_log.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/record/test/temporary_test.hpp"

namespace plx::probe {
namespace {

struct DiagnoseLog : testing::Test {
  recorder r{2};
  counter_registry counters;
  std::vector<registration> machine = add_machine_counters(counters), own = add_recorder_counters(counters, r);
  const std::string folder = temporary_path("diagnose_log");

  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  std::string file(const char* name) const { return read_file(folder + "/" + name).value(); }
};

TEST_F(DiagnoseLog, WritesCountersOverTimeAndWorkers) {
  diagnose_log log(r, counters);
  log.sample();
  r.worker(1).record({.name = register_name("work"), .begin = 0, .end = ticks_from(0.5)});
  r.worker(0).idle(0, ticks_from(0.25));
  log.sample();
  ASSERT_TRUE(log.write(folder));
  const std::string text = file("diagnose.csv");
  EXPECT_EQ(text.substr(0, text.find('\n')), "time_s,name,value,unit");
  EXPECT_NE(text.find(",/threads{locality#0/total}/time/exec,0,s\n"), std::string::npos);
  EXPECT_NE(text.find(",/threads{locality#0/total}/time/exec,0.5,s\n"), std::string::npos);
  EXPECT_NE(text.find(",/machine/memory/resident,"), std::string::npos);
  EXPECT_EQ(file("workers.csv"),
            "worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals,on_core_s,ready_s\n"
            "0,0.000000,0.000000,0.000000,0.250000,0,0,,\n"
            "1,0.500000,0.000000,0.000000,0.000000,1,0,,\n");
  EXPECT_NE(text.find(",/machine/page-faults/minor,"), std::string::npos);
}

TEST_F(DiagnoseLog, WritesTimeWithoutACorePerWorkerAndOverTime) {
  const auto add = [&](const char* name, double value) {
    return counters.add({name, "s", "time of the thread", true}, [value] { return value; });
  };
  const auto one = add("/threads{locality#0/worker-thread#1}/time/processor", 1.5);
  const auto two = add("/threads{locality#0/worker-thread#1}/time/waiting-for-processor", 0.25);
  const auto sum = add("/threads{locality#0/total}/time/waiting-for-processor", 0.25);
  diagnose_log log(r, counters);
  ASSERT_TRUE(log.write(folder));
  EXPECT_NE(file("workers.csv").find("\n1,0.000000,0.000000,0.000000,0.000000,0,0,1.500000,0.250000\n"),
            std::string::npos);
  EXPECT_NE(file("diagnose.csv").find(",/threads{locality#0/total}/time/waiting-for-processor,0.25,s\n"),
            std::string::npos);
}

TEST_F(DiagnoseLog, ALongRunKeepsFewEvenlySpacedSamples) {
  diagnose_log log(r, counters);
  log.sample();
  r.worker(1).record({.name = register_name("work"), .begin = 0, .end = ticks_from(0.5)});
  for (int i = 1; i < 1500; ++i) log.sample();
  EXPECT_LE(log.samples(), diagnose_log::most_samples);
  EXPECT_GE(log.samples(), diagnose_log::most_samples / 4);
  ASSERT_TRUE(log.write(folder));
  const std::string text = file("diagnose.csv");
  EXPECT_NE(text.find(",/threads{locality#0/total}/time/exec,0,s\n"), std::string::npos) << "the first sample is kept";
}

/// It changes slowly, and reading it takes a file per processor. Its samples remain when others are dropped.
TEST_F(DiagnoseLog, TheStateOfTheMachineIsReadInOneOfEightCallsAndAtTheEnd) {
  int reads = 0;
  const auto frequency = counters.add({"/system{total}/cpu/frequency", "Hz", "x"}, [&] { return ++reads; });
  const auto governor = counters.add({"/system{powersave}/cpu/governor", "1", "x"}, [] { return 4; });
  const auto lines = [&] {
    const std::string text = file("diagnose.csv");
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(",/system{total}/cpu/frequency,", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  diagnose_log log(r, counters);
  for (int i = 0; i < 17; ++i) log.sample();
  ASSERT_TRUE(log.write(folder));
  EXPECT_EQ(reads, 4);  // calls 0, 8 and 16, and the last moment
  EXPECT_EQ(lines(), 4u);
  EXPECT_NE(file("diagnose.csv").find(",/system{powersave}/cpu/governor,4,1\n"), std::string::npos);
  for (int i = 17; i < 4096; ++i) log.sample();
  ASSERT_TRUE(log.write(folder));
  EXPECT_GE(lines(), 200u);  // samples are 8 or 16 calls apart: each has them
}

/// Uses the names and definitions of the registry.
TEST_F(DiagnoseLog, InputAndOutputOfTheProcessAreTheRegistrys) {
  std::filesystem::create_directories(folder + "/proc/self");
  ASSERT_TRUE(write_file(folder + "/proc/self/io",
                         "rchar: 6976\nwchar: 11\nsyscr: 10\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 8192\n"));
  const auto io = add_proc_counters(counters, folder + "/proc", nullptr);
  diagnose_log log(r, counters);
  ASSERT_TRUE(log.write(folder));
  const std::string text = file("diagnose.csv");
  for (const char* line : {",/machine/io/read,6976,bytes\n", ",/machine/io/written,11,bytes\n",
                           ",/machine/io/disk-read,4096,bytes\n", ",/machine/io/disk-written,8192,bytes\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("-calls"), std::string::npos);
}

/// Each process of a job has its own log, of its own counters.
TEST_F(DiagnoseLog, AnotherLocalityWritesItsOwnCounters) {
  counter_registry second(2);
  const auto there = add_recorder_counters(second, r);
  r.paths(true);
  diagnose_log log(r, second);
  ASSERT_TRUE(log.write(folder));
  EXPECT_NE(file("diagnose.csv").find(",/threads{locality#2/total}/time/exec,0,s\n"), std::string::npos);
}

TEST_F(DiagnoseLog, AMissingFolderIsAnErrorOfOneLine) {
  diagnose_log log(r, counters);
  const auto done = log.write(folder + "/gone");
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("/gone/diagnose.csv"), std::string::npos);
}

}  // namespace
}  // namespace plx::probe
