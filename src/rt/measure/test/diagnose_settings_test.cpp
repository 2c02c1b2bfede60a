// With diagnose=1 any program writes the files that `parallax diagnose` reads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/settings.hpp"
#include "rt/core/topology.hpp"
#include "rt/measure/scheduler_counters.hpp"
#include "rt/runtime.hpp"

namespace plx {
namespace {

TEST(DiagnoseSetting, ARunWritesWhatDiagnoseReads) {
  const std::string folder = probe::temporary_path("diagnosed_run");
  std::filesystem::remove_all(folder);
  int argc = 3;
  char program[] = "program", diagnose[] = "--plx:diagnose", out[512];
  std::snprintf(out, sizeof out, "--plx:output=%s", folder.c_str());
  char* argv[] = {program, diagnose, out, nullptr};
  {
    runtime_options options = options_from_arguments(argc, argv);
    options.workers = 2;
    runtime rt(options);
    rt.run([] { async([] {}).get(); });
  }
  for (const char* name : {"profile.csv", "waits.csv", "workers.csv", "diagnose.csv"})
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + name)) << name;
  const std::string text = read_file(folder + "/diagnose.csv").value();
  EXPECT_NE(text.find(",/scheduler{locality#0/total}/task-cost,"), std::string::npos);
  if (std::filesystem::exists("/proc/self/schedstat")) {
    EXPECT_NE(text.find(",/threads{locality#0/total}/time/waiting-for-processor,"), std::string::npos);
    const std::string workers = read_file(folder + "/workers.csv").value();
    EXPECT_EQ(workers.find(",,"), std::string::npos) << workers;  // on_core_s and ready_s of each worker
  }
}

TEST(DiagnoseSetting, ProcessorsAreThoseOfTheWorkers) {
  const std::string folder = probe::temporary_path("diagnosed_cores");
  auto measure = std::make_shared<probe::settings>();
  measure->diagnose = true;
  measure->output = folder;
  const std::string first = std::to_string(detail::allowed_cores().front());
  { runtime rt({.workers = 2, .cores = first, .measure = measure}); }
  EXPECT_NE(read_file(folder + "/diagnose.csv").value().find(",/machine/processors,1,1\n"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(TaskCost, IsThatOfATask) {
  const double cost = detail::task_cost_s();
  EXPECT_GT(cost, 1e-9);
  EXPECT_LT(cost, 1e-4);  // under sanitizers too
  EXPECT_EQ(cost, detail::task_cost_s());
}

TEST(OptionsFromArguments, AWrongOptionEndsTheProgramWithOneLine) {
  const auto with_wrong_option = [] {
    int argc = 2;
    char program[] = "program", wrong[] = "--plx:trase=json";
    char* argv[] = {program, wrong, nullptr};
    (void)options_from_arguments(argc, argv);
  };
  EXPECT_EXIT(with_wrong_option(), testing::ExitedWithCode(2),
              "^program: unknown option '--plx:trase'; did you mean '--plx:trace'.\n$");
}

TEST(OptionsFromArguments, ReadOptionsGivesTheErrorInstead) {
  int argc = 2;
  char program[] = "program", wrong[] = "--plx:thread=4";
  char* argv[] = {program, wrong, nullptr};
  const auto options = read_options(argc, argv);
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().message, "unknown option '--plx:thread'; did you mean '--plx:threads'?");
}

// Without the check, the runtime's constructor throws.
TEST(OptionsFromArguments, VariablesWithoutAnOptionAreCheckedToo) {
  for (const auto& [name, value] : {std::pair("PLX_CORES", "999999"),
                                    {"PLX_THREADS", "none"},
                                    {"PLX_BIND", "2"},
                                    {"PLX_REPORT_HANG", "abc"},
                                    {"PLX_EXPLAIN_SIGNAL", "KILLED"},
                                    {"PLX_FLIGHT_SIGNAL", "KILLED"}}) {
    setenv(name, value, 1);
    int argc = 1;
    char program[] = "program";
    char* argv[] = {program, nullptr};
    const auto options = read_options(argc, argv);
    unsetenv(name);
    ASSERT_FALSE(options) << name;
    EXPECT_NE(options.error().message.find(value), std::string::npos) << options.error().message;
    EXPECT_EQ(options.error().message.find('\n'), std::string::npos) << options.error().message;
  }
}

}  // namespace
}  // namespace plx
