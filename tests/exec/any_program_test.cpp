// attach/plx_probe.h in a C program without plx-exec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_program.hpp"

using testing::HasSubstr;

TEST(AnyProgram, CountsTimersAndThreads) {
  const std::string folder = fresh_folder();
  const outcome o = run("%BIN%/any_program --plx:profile=csv --plx:output=" + folder);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.out, "on 1, arguments 1\n");

  const table profile = read_csv(folder + "/profile.csv");
  EXPECT_EQ(sum(where(profile, "name", "solve"), "calls"), 200);
  EXPECT_EQ(sum(where(profile, "name", "step"), "calls"), 201);  // one was yielded here and ended there
  EXPECT_EQ(sum(where(profile, "name", "main"), "calls"), 1);
  EXPECT_EQ(sum(where(profile, "name", "thread"), "calls"), 20);
  EXPECT_NEAR(sum(profile, "share"), 1, 1e-4);

  const table timers = read_csv(folder + "/timers.csv");
  const table solve = where(timers, "name", "solve");
  ASSERT_EQ(solve.size(), 1u);
  EXPECT_GE(sum(solve, "inclusive_s"), sum(solve, "exclusive_s"));
  EXPECT_EQ(sum(solve, "calls"), 200);

  const table threads = read_csv(folder + "/threads.csv");
  EXPECT_EQ(threads.size(), 21u);
  EXPECT_EQ(where(threads, "name", "helper").size(), 20u);
  EXPECT_EQ(where(threads, "row", "0").size(), 1u);   // main keeps its row,
  EXPECT_EQ(where(threads, "row", "1").size(), 20u);  // the others reuse another one
  EXPECT_EQ(where(threads, "state", "running").size(), 1u);

  const table samples = read_csv(folder + "/samples.csv");
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].at("name"), "residual");
  EXPECT_EQ(sum(samples, "samples"), 4);
  EXPECT_EQ(sum(samples, "mean"), 2.5);
  EXPECT_EQ(sum(samples, "max"), 4);
}

TEST(AnyProgram, CountersAreThere) {
  const std::string folder = fresh_folder();
  ASSERT_EQ(run("%BIN%/any_program --plx:profile=csv --plx:output=" + folder).exit_code, 0);
  const table counters = read_csv(folder + "/counters.csv");
  EXPECT_EQ(sum(where(counters, "name", "/mesh/count/blocks"), "value"), 400);
  EXPECT_EQ(sum(where(counters, "name", "/own/answer"), "value"), 42);
  EXPECT_EQ(sum(where(counters, "name", "/process/count/threads"), "value"), 21);
}

TEST(AnyProgram, ATraceHasTheTimers) {
  const std::string folder = fresh_folder();
  ASSERT_EQ(run("%BIN%/any_program --plx:trace --plx:output=" + folder).exit_code, 0);
  ASSERT_EQ(run("%BIN%/plx-trace json -o " + folder + "/trace.json " + folder).exit_code, 0);
  const std::string text = whole_file(folder + "/trace.json");
  EXPECT_THAT(text, HasSubstr("\"solve\""));
  EXPECT_THAT(text, HasSubstr("residual"));
}

TEST(AnyProgram, TheCallPathIsATree) {
  const std::string folder = fresh_folder();
  ASSERT_EQ(run("%BIN%/any_program --plx:trace --plx:output=" + folder).exit_code, 0);
  const std::string tree = run("%BIN%/plx-trace tree " + folder).out;
  EXPECT_THAT(tree, HasSubstr("  thread\n"));
  EXPECT_THAT(tree, HasSubstr("  `- solve\n"));
}

TEST(AnyProgram, WithoutOptionsNothingIsWritten) {
  const std::string folder = fresh_folder();
  const outcome o = run("cd " + folder + " && %BIN%/any_program");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.out, "on 0, arguments 1\n");
  EXPECT_FALSE(exists(folder + "/plx-run"));
}

TEST(AnyProgram, AnUnknownOptionIsOneLine) {
  const outcome o = run("%BIN%/any_program must --plx:profil=csv");
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_THAT(o.err, HasSubstr("profile"));  // the nearest name
}

TEST(AnyProgram, FilesWrittenBeforeAnAbortRemain) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(run("ulimit -c 0; exec %BIN%/any_program write --plx:profile=csv --plx:output=" + folder).exit_code,
            128 + 6);
  EXPECT_EQ(sum(where(read_csv(folder + "/profile.csv"), "name", "solve"), "calls"), 200);
  EXPECT_EQ(read_csv(folder + "/threads.csv").size(), 21u);
}

TEST(AnyProgram, AnUnwritableFolderIsOneLineAndTheProgramContinues) {
  const outcome o = run("%BIN%/any_program --plx:profile=csv --plx:output=/proc/none");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.out, "on 1, arguments 1\n");
  EXPECT_THAT(o.err, HasSubstr("/proc/none"));
}
