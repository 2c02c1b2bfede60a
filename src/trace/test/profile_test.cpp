#include "trace/profile.hpp"

#include "probe/record/test/temporary_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/file.hpp"
#include "probe/monitor/machine_limits.hpp"
#include "probe/monitor/task_counts.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string temporary(const char* name) {
  const std::string path = temporary_path("profile_test/") + name;
  std::filesystem::create_directories(path);
  return path;
}

void fill(recorder& r) {
  const name_id small = register_name("profile_test/small"), large = register_name("profile_test/large, \"f\"(x)");
  r.worker(0).record({.name = small, .begin = 0, .end = 1000});
  r.worker(1).record({.name = large, .begin = 0, .end = 1000, .finished = false});
  r.worker(0).record({.name = large, .begin = 2000, .end = 4000, .finished = true, .earlier = 1000});
  r.worker(0).idle(0, 500);
  r.worker(1).overhead(250);
}

struct tau_line {
  double calls, subroutines, exclusive_us, inclusive_us;
  std::string group;
};

/// Reads a file as pprof does, and fails on deviations from the format.
std::map<std::string, tau_line> read_tau(const std::string& path) {
  std::istringstream in(read_file(path).value());
  std::map<std::string, tau_line> rows;
  std::string line;
  std::getline(in, line);
  int n = 0, used = 0;
  EXPECT_EQ(std::sscanf(line.c_str(), "%d templated_functions_MULTI_TIME%n", &n, &used), 1) << line;
  EXPECT_EQ(static_cast<std::size_t>(used), line.size()) << line;
  std::getline(in, line);
  EXPECT_EQ(line, "# Name Calls Subrs Excl Incl ProfileCalls #");
  for (int i = 0; i < n; ++i) {
    EXPECT_TRUE(std::getline(in, line));
    const std::size_t end = line.find('"', 1);
    EXPECT_EQ(line.at(0), '"');
    EXPECT_NE(end, std::string::npos) << line;
    tau_line row{};
    char group[64] = {};
    int profile_calls = -1;
    used = 0;
    const int got = std::sscanf(line.c_str() + end + 1, " %lf %lf %lf %lf %d GROUP=\"%63[^\"]\"%n", &row.calls,
                                &row.subroutines, &row.exclusive_us, &row.inclusive_us, &profile_calls, group, &used);
    EXPECT_EQ(got, 6) << line;
    EXPECT_EQ(end + 1 + static_cast<std::size_t>(used), line.size()) << line;
    EXPECT_EQ(profile_calls, 0);
    EXPECT_LE(row.exclusive_us, row.inclusive_us);
    row.group = group;
    EXPECT_TRUE(rows.emplace(line.substr(1, end - 1), row).second) << "twice: " << line;
  }
  std::getline(in, line);
  EXPECT_EQ(line, "0 aggregates");
  EXPECT_FALSE(std::getline(in, line)) << line;
  return rows;
}

TEST(Profile, CsvSharesOfTheLargestFirst) {
  recorder r(2);
  fill(r);
  const std::string path = temporary("csv") + "/profile.csv";
  ASSERT_TRUE(write_profile_csv(r, path));
  EXPECT_THAT(read_file(path).value(),
              testing::MatchesRegex("name,calls,yields,total_s,mean_s,min_s,max_s,stddev_s,share,idle_blame_s,"
                                    "lock_blame_s,p50_s,p99_s\n"
                                    "\"profile_test/large, \"\"f\"\"\\(x\\)\",1,1,.*,0,0.750000,0,0,.*\n"
                                    "profile_test/small,1,0,.*,0,0.250000,0,0,.*\n"));
  EXPECT_EQ(write_profile_csv(r, "/dev/full").error().message, "cannot write '/dev/full': No space left on device");
}

TEST(Profile, TauFilesOfEachWorkerParse) {
  recorder r(2);
  fill(r);
  const std::string folder = temporary("tau");
  ASSERT_TRUE(write_tau_profiles(r, 3, folder));
  const double us = 1e6 / ticks_per_second();
  auto first = read_tau(folder + "/profile.3.0.0"), second = read_tau(folder + "/profile.3.0.1");
  ASSERT_EQ(first.size(), 5u);
  EXPECT_EQ(first["profile_test/small"].calls, 1);
  EXPECT_NEAR(first["profile_test/small"].exclusive_us, 1000 * us, 1e-6);
  EXPECT_EQ(first["profile_test/large, 'f'(x)"].calls, 1);
  EXPECT_NEAR(first["profile_test/large, 'f'(x)"].inclusive_us, 2000 * us, 1e-6)
      << "its other slice ran on another worker";
  EXPECT_EQ(second["profile_test/large, 'f'(x)"].calls, 0);
  EXPECT_NEAR(second["profile_test/large, 'f'(x)"].inclusive_us, 1000 * us, 1e-6);
  EXPECT_NEAR(first["[worker] idle"].exclusive_us, 500 * us, 1e-6);
  EXPECT_EQ(first["[worker] idle"].group, "PLX_RUNTIME");
  EXPECT_FALSE(write_tau_profiles(r, 0, "/nowhere"));
}

TEST(Profile, TheTableIsAlignedAndHasTheCostOfMeasurement) {
  recorder r(2);
  fill(r);
  const std::string text = profile_text(r);
  EXPECT_THAT(text, HasSubstr("2 tasks on 2 workers"));
  EXPECT_THAT(text, HasSubstr("measuring cost"));
  EXPECT_THAT(text, HasSubstr("75.0 %"));
  std::istringstream in(text);
  std::string heading, line;
  std::getline(in, heading);
  EXPECT_LE(heading.size(), 110u);
  for (int i = 0; i < 2; ++i) {
    std::getline(in, line);
    EXPECT_EQ(line.size(), heading.size()) << line;
  }
}

TEST(Profile, LongNamesAreShortenedAndManyTypesAreSummed) {
  recorder r(1);
  r.worker(0).record({.name = register_name("profile_test/" + std::string(200, 'x') + "end"), .begin = 0, .end = 100});
  for (int i = 0; i < 20; ++i)
    r.worker(0).record({.name = register_name("profile_test/kind " + std::to_string(i)), .begin = 0, .end = 10});
  const std::string text = profile_text(r, 5);
  EXPECT_THAT(text, HasSubstr("..."));
  EXPECT_THAT(text, HasSubstr("xxend"));
  EXPECT_THAT(text, HasSubstr("and 16 more task types"));
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 160u) << line;
}

TEST(Profile, AnUnfinishedTaskHasNoDuration) {
  recorder r(1);
  r.worker(0).record({.name = register_name("profile_test/open"), .begin = 0, .end = 100, .finished = false});
  EXPECT_THAT(profile_text(r), HasSubstr("       -"));
}

TEST(Profile, EventsWorkAndLimitsOfTaskTypes) {
  recorder r(2);
  fill(r);
  const name_id small = register_name("profile_test/small");
  counts_of_tasks counts{.events = {{"page-faults", 1}, {"task-clock", 1e-9}}, .work = true, .by_name = {}};
  counts.by_name.resize(small + 1);
  counts.by_name[small] = {.events = {600, 2'000'000'000}, .flops = 1e6, .bytes = 3e6};
  counts.no_task = {400, 0};
  counts.total = {1000, 2'000'000'000};
  const double small_s = 1000 / ticks_per_second();
  const machine_limits limits{
      .threads = 2, .vector_bits = 512, .flops_per_s = 2 * 1e7 / small_s, .bytes_per_s = 2 * 6e6 / small_s};
  const measured_of_tasks more{.energy = nullptr, .counts = &counts, .limits = &limits};
  const std::string text = profile_text(r, 40, more);
  EXPECT_THAT(text, HasSubstr("page-faults: 1,000: \"profile.../small\" 60.0 %, no task 40.0 %\n"));
  EXPECT_THAT(text, HasSubstr("task-clock: 2.00 s: \"profile.../small\" 100.0 %, no task 0.0 %\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("limits of 2 workers: memory .* GB/s, .* Gflop/s: \"profile.../small\" 50.0 % "
                                     "of memory\n"));
  const std::string path = temporary("counts") + "/profile.csv";
  ASSERT_TRUE(write_profile_csv(r, path, more));
  const std::string csv = read_file(path).value();
  EXPECT_THAT(csv, HasSubstr(",p99_s,perf:page-faults,perf:task-clock,flops,bytes\n"));
  EXPECT_THAT(csv, testing::ContainsRegex("small,1,.*,600,2,1000000,3000000\n"));
  EXPECT_THAT(csv, testing::ContainsRegex("large.*,0,0,0,0\n"));
  counts.by_name.clear();
  EXPECT_THAT(profile_text(r, 40, more), HasSubstr("Gflop/s: no task type stated its work\n"));
}

TEST(Profile, AnEmptyRecordingGivesATable) {
  const recorder r(1);
  EXPECT_THAT(profile_text(r), HasSubstr("0 tasks on 1 worker,"));
  EXPECT_THAT(profile_text(r), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace plx::probe
