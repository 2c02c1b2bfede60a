#include "probe/settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"

namespace plx::probe {
namespace {

struct variable {
  variable(const char* n, const char* v) : name(n) { setenv(n, v, 1); }
  ~variable() { unsetenv(name); }
  const char* name;
};

TEST(Settings, NothingIsMeasuredByDefault) {
  const auto s = settings_from_environment();
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_FALSE(s->any());
}

TEST(Settings, TheEnvironmentEnablesSettings) {
  const variable trace("PLX_TRACE", "1"), profile("PLX_PROFILE", "1");
  const auto s = settings_from_environment();
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_TRUE(s->any());
  EXPECT_TRUE(s->trace);
  EXPECT_EQ(s->profile, "screen,csv");
}

TEST(Settings, PrecedenceIsArgumentsEnvironmentFile) {
  const std::string path = temporary_path("settings.toml");
  ASSERT_TRUE(write_file(path, "[plx]\nprofile = \"csv\"\noutput = \"from-file\"\ntrace-budget = 0.25\n"));
  const variable file("PLX_CONFIG", path.c_str()), profile("PLX_PROFILE", "tau"), output("PLX_OUTPUT", "from-env");
  std::string a0 = "program", a1 = "--plx:output=from-arguments", a2 = "--other=1", a3 = "--plx:trace";
  char* argv[] = {a0.data(), a1.data(), a2.data(), a3.data(), nullptr};
  int argc = 4;
  const auto s = settings_from_arguments(argc, argv);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->trace_budget, 0.25);
  EXPECT_EQ(s->profile, "tau");
  EXPECT_EQ(s->output, "from-arguments");
  EXPECT_TRUE(s->trace);
  ASSERT_EQ(argc, 2);
  EXPECT_STREQ(argv[1], "--other=1");
  EXPECT_EQ(argv[2], nullptr);
}

TEST(Settings, CountsByTaskTypeNeedEventsAndWriteProfiles) {
  const auto without = settings_from_list({"--plx:perf-tasks"});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().message,
            "--plx:perf-tasks counts the events of 'perf' by task type, and it names none; set perf to events, such as "
            "page-faults");
  const auto s = settings_from_list({"--plx:perf-tasks", "--plx:perf=page-faults"});
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->profile, "screen,csv");
  EXPECT_EQ(settings_from_list({"--plx:roofline", "--plx:profile=csv"}).value().profile, "csv");
}

TEST(Settings, PrintedCountersAddUpAndMakeNoFiles) {
  std::string a0 = "program", a1 = "--plx:print-counter=/a/x", a2 = "--plx:print-counter={/b{c}/x@1,2}",
              a3 = "--plx:list-counters";
  char* argv[] = {a0.data(), a1.data(), a2.data(), a3.data(), nullptr};
  int argc = 4;
  const auto s = settings_from_arguments(argc, argv);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->print_counter, "/a/x,{/b{c}/x@1,2}");
  EXPECT_EQ(s->list_counters, "short");
  EXPECT_TRUE(s->any());
  EXPECT_FALSE(s->writes_files());
}

std::string error_of(const char* argument) {
  std::string a0 = "program", a1 = argument;
  char* argv[] = {a0.data(), a1.data(), nullptr};
  int argc = 2;
  const auto s = settings_from_arguments(argc, argv);
  return s ? "" : s.error().message;
}

TEST(Settings, SpeedUpsExpectNothingThatWouldMeasureTheirDelays) {
  const variable speedup("PLX_SPEEDUP", "1");
  EXPECT_EQ(error_of("--plx:speedup=a,{b(int, int)}"), "");
  EXPECT_EQ(error_of("--plx:trace"),
            "PLX_SPEEDUP expects no --plx:trace, which would measure the delays that it inserts");
  EXPECT_EQ(error_of("--plx:policies=worker-cap"),
            "PLX_SPEEDUP expects no --plx:policies, which would measure the delays that it inserts");
  EXPECT_EQ(error_of("--plx:speedup={a"), "--plx:speedup={a: its braces do not match");
}

TEST(Settings, AMistypedVariableIsReportedWithTheNearestOne) {
  const char* const environment[] = {
      "HOME=/",     "PLX_PROFLE=1",  "PLX_PROFILE=1", "PLX_TRACE_BUGDET=0.1", "PLX_REPORT_HAGN=1", "PLX_OF_A_PROGRAM=2",
      "PLXTRACE=1", "PLX_WORKERS=2", nullptr};
  const std::vector<std::string> expected{
      "the environment variable PLX_PROFLE is not known; did you mean PLX_PROFILE?",
      "the environment variable PLX_TRACE_BUGDET is not known; did you mean PLX_TRACE_BUDGET?",
      "the environment variable PLX_REPORT_HAGN is not known; did you mean PLX_REPORT_HANG?",
      "the environment variable PLX_WORKERS is not known; did you mean PLX_THREADS?"};
  EXPECT_EQ(mistyped_variables(environment), expected);
}

TEST(Settings, ErrorsSuggestTheNearestKey) {
  EXPECT_EQ(error_of("--plx:trase=1"), "unknown option '--plx:trase'; did you mean '--plx:trace'?");
  EXPECT_EQ(error_of("--plx:workers=2"), "unknown option '--plx:workers'; did you mean '--plx:threads'?");
  EXPECT_NE(error_of("--plx:trase=1").find("trace"), std::string::npos) << error_of("--plx:trase=1");
}

TEST(Settings, AnErrorNamesTheOptionOnceAsItWasWritten) {
  EXPECT_EQ(error_of("--plx:sample-stacks=abc"), "--plx:sample-stacks expects a number, found 'abc'");
  EXPECT_EQ(error_of("--plx:trace-budget=2"), "--plx:trace-budget must be in [0, 1], found 2.0");
  EXPECT_EQ(error_of("--plx:trace=perhaps"), "--plx:trace expects a boolean, found 'perhaps'");
  EXPECT_EQ(error_of("--plx:threads=1"), "");
  EXPECT_EQ(error_of("--plx:threads=-1"), "--plx:threads must be >= 0, found -1");
  EXPECT_EQ(error_of("--plx:print-format=xml"), "--plx:print-format must be one of text, csv, json, found \"xml\"");
  EXPECT_EQ(error_of("--plx:profile=csb"),
            "--plx:profile expects a list of screen, csv, tau, found 'csb'; did you mean 'csv'?");
  EXPECT_EQ(error_of("--plx:policies=none"), "--plx:policies expects a list of worker-cap, loop-grain, found 'none'");
  for (const char* wrong : {"--plx:trace-localities=0", "--plx:trace-localities=-2", "--plx:trace-localities=1.5",
                            "--plx:trace-localities=two"}) {
    const std::string line = error_of(wrong);
    EXPECT_NE(line.find("--plx:trace-localities"), std::string::npos) << wrong << ": " << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_EQ(error_of("--plx:print-counter=/a/x,idle"),
            "--plx:print-counter expects /object{instance}/name@parameters, found 'idle'");
  EXPECT_EQ(error_of("--plx:sample-counter=/a{x"), "--plx:sample-counter=/a{x: its braces do not match");
}

TEST(Settings, AnErrorNamesTheVariableOrTheLineOfTheFile) {
  const auto error_with = [](const char* name, const char* value) {
    const variable set(name, value);
    const auto s = settings_from_environment();
    return s ? "" : s.error().message;
  };
  EXPECT_EQ(error_with("PLX_SAMPLE_STACKS", "abc"), "PLX_SAMPLE_STACKS expects a number, found 'abc'");
  EXPECT_EQ(error_with("PLX_PROFILE", "xy"), "PLX_PROFILE expects a list of screen, csv, tau, found 'xy'");
  const std::string file = testing::TempDir() + "settings_test.toml";
  std::ofstream(file) << "[plx]\nprofile = \"xy\"\n";
  EXPECT_EQ(error_with("PLX_CONFIG", file.c_str()),
            file + ":2: plx.profile expects a list of screen, csv, tau, found 'xy'");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace plx::probe
