// Programs under plx-exec: counts are known, and the program's behaviour does not change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "run_program.hpp"

using testing::HasSubstr;
using testing::IsEmpty;

namespace {

outcome measure(const std::string& folder, const std::string& line, const std::string& options = "-q") {
  return run("ulimit -c 0; exec %BIN%/plx-exec " + options + " -o " + folder + " " + line);
}

// The waits of every run of `locks`, however it ends.
void check_waits(const std::string& folder, double other_joins = 0) {
  const table waits = read_csv(folder + "/waits.csv");
  const auto one = [&](const char* kind, const char* name) {
    const table found = where(where(waits, "kind", kind), "name", name);
    EXPECT_EQ(found.size(), 1u) << kind << " " << name;
    EXPECT_GT(sum(found, "total_s"), 0.015 * sum(found, "waits")) << kind;  // it was held for 20 ms
    EXPECT_GE(sum(found, "total_s"), sum(found, "max_s"));
    return sum(found, "waits");
  };
  EXPECT_EQ(one("mutex", "queue_lock"), 3);
  EXPECT_EQ(where(waits, "kind", "shared_mutex").size(), 1u);
  EXPECT_EQ(one("shared_mutex", "table_lock"), 1);
  EXPECT_EQ(one("condition_variable", "ready"), 1);
  EXPECT_EQ(one("semaphore", "places"), 1);
  EXPECT_EQ(one("futex", "word"), 1);
  EXPECT_EQ(one("future", "in "), 1);
  EXPECT_GE(sum(where(where(waits, "kind", "sleep"), "name", "let_wait"), "waits"), 6);
  EXPECT_LE(sum(where(waits, "kind", "thread"), "waits"), 58 + other_joins);  // a join of an ended thread is no wait
}

void check_threads(const std::string& folder, double others = 0) {
  const table profile = read_csv(folder + "/profile.csv");
  EXPECT_EQ(sum(where(profile, "name", "main"), "calls"), 1 + sum(where(profile, "name", "main::"), "calls"));
  EXPECT_EQ(sum(where(profile, "name", "lock_once(int)"), "calls"), 3);
  EXPECT_EQ(sum(where(profile, "name", "plain_routine"), "calls"), 50);
  EXPECT_EQ(sum(where(profile, "name", "lambda#"), "calls"), 5 + others);
  EXPECT_EQ(sum(profile, "calls"), 59 + others);
  EXPECT_EQ(sum(read_csv(folder + "/threads.csv"), "threads"), 59 + others);
}

}  // namespace

TEST(PlxExec, CountsThreadsAndWaits) {
  const std::string folder = fresh_folder();
  const outcome o = measure(folder, "%BIN%/locks");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_THAT(o.err, IsEmpty());
  check_waits(folder);
  check_threads(folder);
  // The lock was held for 20 ms against each of three threads: each waited, and that time is not work.
  const table threads = where(read_csv(folder + "/threads.csv"), "function", "lock_once");
  ASSERT_EQ(threads.size(), 3u);
  const double waited_s = sum(threads, "wait_s"), lived_s = sum(threads, "end_s") - sum(threads, "begin_s");
  EXPECT_GT(waited_s, 3 * 0.015);
  const double worked_s = sum(where(read_csv(folder + "/profile.csv"), "name", "lock_once"), "total_s");
  EXPECT_LT(worked_s, lived_s - waited_s / 2) << "the rest of their time is work or run delay";
}

/// Three threads wait while main holds the mutex, then two while the first of them does, then one.
TEST(PlxExec, HoldsDuringWhichOthersWaitedAreRecorded) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder, "%BIN%/locks").exit_code, 0);
  const table holds = where(read_csv(folder + "/holds.csv"), "name", "queue_lock");
  EXPECT_EQ(sum(holds, "holds"), 3);
  const table by_main = where(holds, "function", "main"), by_others = where(holds, "function", "lock_once");
  EXPECT_EQ(sum(by_main, "holds"), 1);
  EXPECT_EQ(sum(by_others, "holds"), 2);
  EXPECT_GT(sum(by_main, "max_s"), 0.015);  // for 20 ms after all of them wait
  const table waits = where(read_csv(folder + "/waits.csv"), "name", "queue_lock");
  EXPECT_LE(sum(by_main, "total_s"), sum(waits, "max_s") + 1e-6) << "a hold counts from the first wait on";
  // No other mutex is waited for, such as the one that is locked a million times.
  EXPECT_EQ(read_csv(folder + "/holds.csv").size(), holds.size());
}

/// An inner lock neither ends a hold nor begins another one: the outer lock is held for 20 ms before and after it.
TEST(PlxExec, ARecursiveMutexIsHeldUntilItsLastRelease) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder, "%BIN%/locks recursive").exit_code, 0);
  const table holds = where(read_csv(folder + "/holds.csv"), "name", "tree_lock");
  EXPECT_EQ(sum(holds, "holds"), 1);
  EXPECT_GT(sum(holds, "max_s"), 0.035);
}

TEST(PlxExec, AHoldHasTheLineThatTookTheLock) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder, "%BIN%/sites_2 heap").exit_code, 0);
  const table holds = read_csv(folder + "/holds.csv");
  ASSERT_FALSE(holds.empty());
  const auto& longest = holds.front();
  EXPECT_GT(std::strtod(longest.at("max_s").c_str(), nullptr), 0.08);
  EXPECT_THAT(longest.at("function"), HasSubstr("heap"));
  if (longest.at("line").empty()) GTEST_SKIP() << "no addr2line";
  std::ifstream source(PLX_SITES_SOURCE);
  std::string line;
  for (long i = std::strtol(longest.at("line").c_str(), nullptr, 10); i > 0; --i) std::getline(source, line);
  EXPECT_THAT(line, HasSubstr("lock_guard lock(a->lock)")) << longest.at("file") << ":" << longest.at("line");
}

TEST(PlxExec, RunDelayIsReportedPerThread) {
  if (!exists("/proc/self/schedstat")) GTEST_SKIP() << "this system does not count it";
  const std::string folder = fresh_folder();
  std::string core = run("taskset -pc $$").out;  // "...: 0,2-5": the first one allowed
  core = core.substr(core.rfind(' ') + 1);
  core = core.substr(0, core.find_first_of(",-\n"));
  // Two threads compute for 0.3 s of processor time each on one core, so one of them is without a core at any time.
  EXPECT_EQ(
      run("exec taskset -c " + core + " %BIN%/plx-exec -q -o " + folder + " %BIN%/locks two_on_one_core").exit_code, 0);
  const table threads = where(read_csv(folder + "/threads.csv"), "function", "lambda#");
  double ready_s = 0;
  for (const auto& t : threads) {
    EXPECT_NE(t.at("ready_s"), "");
    ready_s += std::strtod(t.at("ready_s").c_str(), nullptr);
  }
  EXPECT_GT(ready_s, 0.25);
  check_threads(folder, 2);
}

TEST(PlxExec, TheProgramsOutputIsUnchanged) {
  const outcome plain = run("%BIN%/locks");
  const outcome measured = measure(fresh_folder(), "%BIN%/locks");
  EXPECT_EQ(plain.out, measured.out);
  EXPECT_EQ(plain.err, measured.err);
  EXPECT_THAT(plain.out, HasSubstr("uncontended 1000000"));
}

TEST(PlxExec, TheLastLineNamesTheFolder) {
  const std::string folder = fresh_folder();
  const outcome o = measure(folder, "%BIN%/locks", "");
  EXPECT_THAT(o.err, HasSubstr("59 threads"));
  EXPECT_THAT(o.err, HasSubstr(folder));
}

struct way {
  const char* how;
  int exit_code;
};
void PrintTo(const way& w, std::ostream* to) { *to << w.how; }
class Ways : public testing::TestWithParam<way> {};

TEST_P(Ways, ToEndAProgramKeepTheFilesAndTheStatus) {
  const std::string folder = fresh_folder();
  const outcome o = measure(folder, std::string("%BIN%/locks ") + GetParam().how);
  EXPECT_EQ(o.exit_code, GetParam().exit_code);
  EXPECT_EQ(run(std::string("ulimit -c 0; exec %BIN%/locks ") + GetParam().how).exit_code, GetParam().exit_code);
  check_waits(folder);
  check_threads(folder);
}
INSTANTIATE_TEST_SUITE_P(All, Ways,
                         testing::Values(way{"exit", 3}, way{"_exit", 4}, way{"quick", 5}, way{"abort", 128 + SIGABRT},
                                         way{"segv", 128 + SIGSEGV}, way{"term", 128 + SIGTERM},
                                         way{"throw", 128 + SIGABRT}, way{"fork", 0}, way{"vfork", 0},
                                         way{"signals", 0}),
                         [](const auto& p) { return std::string(p.param.how); });

TEST(PlxExec, AChildOfForkIsNotMeasured) {
  const std::string folder = fresh_folder();
  const outcome o = measure(folder, "%BIN%/locks fork");
  EXPECT_THAT(o.out, HasSubstr("child\n"));
  EXPECT_THAT(o.out, HasSubstr("child ended with 6"));
  check_threads(folder);  // without the child's thread
}

TEST(PlxExec, ChildrenOfForksWhileLocksAreContendedDoNotHang) {
  const outcome o =
      run("exec timeout --signal=KILL 1200 %BIN%/plx-exec -q -o " + fresh_folder() + " %BIN%/locks forks");
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("100 of 100 children ended"));
}

TEST(PlxExec, TheProgramsSignalHandlersWork) {
  EXPECT_THAT(measure(fresh_folder(), "%BIN%/locks signals").out, HasSubstr("signals 1 1 1"));
}

TEST(PlxExec, AThreadThatRunsAtTheEndIsRecorded) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder, "%BIN%/locks running").exit_code, 0);
  const table endless = where(read_csv(folder + "/threads.csv"), "name", "endless");
  ASSERT_EQ(endless.size(), 1u);
  EXPECT_EQ(endless[0].at("state"), "running");
  EXPECT_GT(sum(endless, "wait_s"), 0.01);  // it still sleeps
  check_threads(folder, 1);
}

TEST(PlxExec, TheProgramEndsWithItsLastThread) {
  const std::string folder = fresh_folder();
  // The main thread ends first; with -d the measurement has several threads.
  const std::string line = " -q -d -o " + folder + " %BIN%/locks last_thread";
  const outcome o = run("exec timeout --signal=KILL 60 %BIN%/plx-exec" + line);
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_THAT(o.out, HasSubstr("the last thread ends\n"));
  check_waits(folder);
  check_threads(folder, 1);
}

TEST(PlxExec, ACancelledThreadEndsItsWait) {
  const std::string folder = fresh_folder();
  EXPECT_THAT(measure(folder, "%BIN%/locks cancel").out, HasSubstr("cancelled 1"));
  EXPECT_EQ(sum(where(where(read_csv(folder + "/waits.csv"), "kind", "semaphore"), "name", "never"), "waits"), 1);
  check_threads(folder, 1);
}

TEST(PlxExec, MutexesWithoutANameAreNamedAfterTheWaitingFunction) {
  for (const std::string level : {"0", "2"}) {
    const std::string folder = fresh_folder();
    EXPECT_EQ(measure(folder + "/reuse", "%BIN%/sites_" + level + " reuse").exit_code, 0);
    const table waits = where(read_csv(folder + "/reuse/waits.csv"), "kind", "mutex");
    EXPECT_GT(sum(where(waits, "name", "in slow_phase_later"), "total_s"), 0.1) << level;
    EXPECT_EQ(sum(where(waits, "name", "in slow_phase_later"), "waits"), 1) << level;
    EXPECT_EQ(where(waits, "name", "in quick_phase_first").size(), 1u) << level;

    EXPECT_EQ(measure(folder + "/heap", "%BIN%/sites_" + level + " heap").exit_code, 0);
    const table heap = where(read_csv(folder + "/heap/waits.csv"), "kind", "mutex");
    ASSERT_EQ(heap.size(), 1u) << level;
    EXPECT_THAT(heap[0].at("name"), HasSubstr("heap()::lambda#2")) << level;
  }
}

TEST(PlxExec, ConstructorsOfALoadedLibraryMayWaitForThreads) {
  const std::string folder = fresh_folder();
  const std::string line = "%BIN%/constructors %BIN%/libconstructors_library.so";
  const outcome o = run("exec timeout 60 %BIN%/plx-exec -q -o " + folder + " " + line);
  EXPECT_EQ(o.exit_code, 0) << "124: it hangs";
  EXPECT_EQ(o.out, run(line).out);
  const table threads = read_csv(folder + "/threads.csv");
  EXPECT_EQ(threads.size(), 5u);
  EXPECT_EQ(where(threads, "function", "innermost").size(), 1u);
  EXPECT_EQ(where(threads, "function", "outer").size(), 3u);  // two are lambdas within it
  EXPECT_GE(sum(where(where(read_csv(folder + "/waits.csv"), "kind", "future"), "name", "in "), "waits"), 1);
}

TEST(PlxExec, FunctionsOfAnotherLibraryAtTheSameAddressHaveTheirOwnNames) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder, "%BIN%/plugins %BIN%/libfirst_plugin.so %BIN%/libsecond_plugin.so").exit_code, 0);
  for (const char* name : {"first_plugin", "second_plugin"})
    EXPECT_EQ(where(read_csv(folder + "/threads.csv"), "function", name).size(), 1u) << name;
}

TEST(PlxExec, ExecWritesFilesAndMeasuresTheNextProgram) {
  const std::string folder = fresh_folder();
  const outcome o = measure(folder, "/bin/sh -c 'exec %BIN%/locks'");
  EXPECT_EQ(o.exit_code, 0);
  check_waits(folder);
  check_threads(folder);
  EXPECT_THAT(measure(fresh_folder(), "%BIN%/locks exec").out, HasSubstr("another"));
}

TEST(PlxExec, AFailedExecChangesNothing) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder, "%BIN%/locks no_exec").exit_code, 0);
  check_threads(folder, 1);
}

TEST(PlxExec, ChildProgramsAreMeasuredOnRequest) {
  const std::string folder = fresh_folder();
  const std::string line = "/bin/sh -c '%BIN%/locks; true'";
  EXPECT_EQ(measure(folder, line).exit_code, 0);
  EXPECT_TRUE(read_csv(folder + "/waits.csv").empty());  // the shell itself does not wait for locks
  EXPECT_EQ(measure(folder, line, "-q -f --force").exit_code, 0);
  const std::string children = run("ls " + folder + " | grep process-").out;
  const std::string first = children.substr(0, children.find('\n'));
  check_threads(folder + "/" + first);
}

TEST(PlxExec, TheProgramsOwnTimersAreInTheSameFiles) {
  const std::string folder = fresh_folder();
  const outcome o = measure(folder, "%BIN%/any_program");
  EXPECT_EQ(o.out, "on 1, arguments 1\n");
  const table profile = read_csv(folder + "/profile.csv");
  EXPECT_EQ(sum(where(profile, "name", "solve"), "calls"), 200);
  EXPECT_EQ(sum(where(profile, "name", "work"), "calls"), 20);  // the thread's function
  EXPECT_EQ(where(read_csv(folder + "/threads.csv"), "name", "helper").size(), 20u);
  EXPECT_EQ(sum(where(read_csv(folder + "/counters.csv"), "name", "/mesh/count/blocks"), "value"), 400);
}

TEST(PlxExec, AProgramThatCannotBeMeasuredIsOneLine) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(run("%BIN%/plx-exec nonexistent_program").exit_code, 127);
  const outcome option = run("%BIN%/plx-exec --plx:trac=json /bin/true");
  EXPECT_EQ(option.exit_code, 125);
  EXPECT_THAT(option.err, HasSubstr("trace"));
  const outcome own = run("%BIN%/plx-exec --diagnos /bin/true");
  EXPECT_EQ(own.exit_code, 125);
  EXPECT_EQ(own.err, "plx-exec: unknown option '--diagnos'; did you mean '--diagnose'?\n");
  EXPECT_EQ(run("%BIN%/plx-exec --zzz=1 /bin/true").err,
            "plx-exec: unknown option '--zzz'; plx-exec --help lists the options\n");
  EXPECT_EQ(run("%BIN%/plx-exec").exit_code, 125);

  std::ofstream(folder + "/plain") << "no program\n";
  EXPECT_EQ(run("%BIN%/plx-exec " + folder + "/plain").exit_code, 126);
  const outcome alone = run("%BIN%/plx-exec %BIN%/static_program");
  EXPECT_EQ(alone.exit_code, 125);
  EXPECT_THAT(alone.err, HasSubstr("linked statically"));

  run("cp %BIN%/locks " + folder + "/other; printf '\\001' | dd of=" + folder + "/other bs=1 seek=4 conv=notrunc");
  const outcome narrow = run("%BIN%/plx-exec " + folder + "/other");
  EXPECT_EQ(narrow.exit_code, 125);
  EXPECT_THAT(narrow.err, HasSubstr("32-bit"));

  const outcome other_user = run("cp %BIN%/locks " + folder + "/su && chown daemon " + folder + "/su && chmod u+s " +
                                 folder + "/su || exit 77; exec %BIN%/plx-exec " + folder + "/su");
  if (other_user.exit_code == 77) GTEST_SKIP() << "no right to change owners here";
  EXPECT_EQ(other_user.exit_code, 125);
  EXPECT_THAT(other_user.err, HasSubstr("set-user-id"));
}

TEST(PlxExec, AMistypedVariableIsOneLine) {
  const outcome o = run("PLX_PROFLE=csv %BIN%/plx-exec -q -o " + fresh_folder() + " %BIN%/any_program");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_EQ(o.err, "plx: the environment variable PLX_PROFLE is not known; did you mean PLX_PROFILE?\n");
}

TEST(PlxExec, AUsedFolderIsKeptUnlessForced) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder + "/new", "%BIN%/any_program").exit_code, 0);
  const std::string before = whole_file(folder + "/new/threads.csv");
  const outcome again = measure(folder + "/new", "%BIN%/locks");
  EXPECT_EQ(again.exit_code, 125);
  EXPECT_THAT(again.out, IsEmpty());
  EXPECT_THAT(again.err, HasSubstr("'" + folder + "/new' is not empty"));
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(whole_file(folder + "/new/threads.csv"), before);
  // Each rank of a job has a folder, and a new rank does not affect another one's.
  EXPECT_EQ(run("PMIX_RANK=0 %BIN%/plx-exec -q -o " + folder + "/job %BIN%/any_program").exit_code, 0);
  EXPECT_EQ(run("PMIX_RANK=1 %BIN%/plx-exec -q -o " + folder + "/job %BIN%/any_program").exit_code, 0);
  const outcome rank = run("PMIX_RANK=1 %BIN%/plx-exec -q -o " + folder + "/job %BIN%/any_program");
  EXPECT_EQ(rank.exit_code, 125);
  EXPECT_THAT(rank.err, HasSubstr("job/rank-1' is not empty"));
  EXPECT_EQ(run("PLX_OUTPUT=" + folder + "/new %BIN%/plx-exec -q /bin/true").exit_code, 125);

  EXPECT_EQ(measure(folder + "/new", "%BIN%/locks", "-q --force").exit_code, 0);
  EXPECT_NE(whole_file(folder + "/new/threads.csv"), before);
}

TEST(PlxExec, APathThatCannotBePreloadedIsRefused) {
  const std::string folder = fresh_folder();
  for (const char* name : {"with space", "with:colon"}) {
    const std::string place = folder + "/" + name;
    const outcome o = run("mkdir '" + place + "' && cp %BIN%/plx-exec %BIN%/libplx-exec.so '" + place + "' && '" +
                          place + "/plx-exec' -o " + folder + "/run %BIN%/locks");
    EXPECT_EQ(o.exit_code, 125) << name;
    EXPECT_THAT(o.err, HasSubstr(place));
    EXPECT_THAT(o.out, IsEmpty()) << "the program must not run without measurement";
  }
}

TEST(PlxExec, HelpAndVersion) {
  const outcome help = run("%BIN%/plx-exec --help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("plx-exec [OPTIONS] PROGRAM"));
  EXPECT_THAT(help.out, HasSubstr("--force"));
  EXPECT_THAT(run("%BIN%/plx-exec -V").out, HasSubstr("plx-exec 0."));
}

TEST(PlxExec, CountersAreSampledWithoutARuntime) {
  const std::string folder = fresh_folder();
  // Runs until a sample has been written, or fails after 300 s or more; another one follows at the end.
  const std::string wait = "sh -c 'i=0; until grep -qs idle-rate " + folder +
                           "/counters.csv; do sleep 0.01; i=$((i+1)); [ $i -lt 30000 ] || exit 1; done'";
  const outcome o = measure(folder, wait, "-q --plx:sample-interval=0.01");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_THAT(o.err, IsEmpty());
  for (const char* name : {"/threads{locality#0/total}/idle-rate", "/machine/memory/resident"})
    EXPECT_GE(where(read_csv(folder + "/counters.csv"), "name", name).size(), 2u) << name;
}

TEST(PlxExec, StacksAreSampled) {
  const std::string folder = fresh_folder();
  const std::string loop = "sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'";
  EXPECT_THAT(measure(folder, loop, "-q --plx:sample-stacks=1000").err, IsEmpty());
  const auto rows = where(read_csv(folder + "/stacks.csv"), "task", "main");
  EXPECT_GE(rows.size(), 1u);
  EXPECT_TRUE(exists(folder + "/stacks.svg"));
}

TEST(PlxExec, SamplesOfThreadsThatRunAtTheEndBelongToTheirTimers) {
  for (int i = 0; i < 3; ++i) {
    const std::string folder = fresh_folder();
    const outcome o = measure(folder, "%BIN%/locks computing", "-q --plx:sample-stacks=1000");
    EXPECT_EQ(o.exit_code, 0);
    EXPECT_THAT(o.err, IsEmpty());
    const auto all = read_csv(folder + "/stacks.csv");
    EXPECT_GE(all.size(), 2u);
    EXPECT_EQ(where(all, "task", "unnamed").size(), 0u);  // within waits, too
  }
}

TEST(PlxExec, StacksAreWrittenBeforeASignalEndsTheProgram) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder, "%BIN%/locks segv", "-q --plx:sample-stacks=1000").exit_code, 128 + SIGSEGV);
  for (const char* name : {"threads.csv", "waits.csv", "stacks.csv", "measurement.json"})
    EXPECT_TRUE(exists(folder + "/" + name)) << name;
}

TEST(PlxExec, TheFileOfTheLivePageIsRemovedAtTheEnd) {
  const std::string folder = fresh_folder();
  EXPECT_THAT(measure(folder, "%BIN%/locks", "-q --plx:serve=1").err, HasSubstr("live page: http://127.0.0.1:"));
  EXPECT_TRUE(exists(folder + "/threads.csv"));
  EXPECT_FALSE(exists(folder + "/live.url"));
}

TEST(PlxExec, AnUnwritableFolderIsRefusedBeforeTheProgramRuns) {
  const std::string file = fresh_folder() + "/file";
  std::ofstream(file) << "no folder";
  for (const std::string& folder : {std::string("/proc/none"), file, std::string("\"\"")}) {
    const outcome o = measure(folder, "%BIN%/locks", "");
    EXPECT_EQ(o.exit_code, 125) << folder;
    EXPECT_THAT(o.err, HasSubstr("folder"));
    EXPECT_THAT(o.out, IsEmpty());
  }
}

TEST(PlxExec, ARelativeFolderIsThatOfTheCommand) {
  const std::string folder = fresh_folder();
  const outcome o =
      run("cd " + folder + " && mkdir other && exec %BIN%/plx-exec -o out sh -c 'cd other; exec %BIN%/locks'");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_THAT(o.err, HasSubstr("see " + folder + "/out/"));
  EXPECT_TRUE(exists(folder + "/out/waits.csv"));
  EXPECT_FALSE(exists(folder + "/other/out"));
}

TEST(PlxExec, ATraceHasARowPerThread) {
  const std::string folder = fresh_folder();
  EXPECT_EQ(measure(folder, "%BIN%/locks", "-q -t").exit_code, 0);
  ASSERT_EQ(run("%BIN%/plx-trace json -o " + folder + "/trace.json " + folder).exit_code, 0);
  const std::string text = whole_file(folder + "/trace.json");
  EXPECT_NE(text.find("\"main\""), std::string::npos);
  EXPECT_NE(text.find("lock_once(int)"), std::string::npos);
}
