#include "probe/monitor/monitors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "base/file.hpp"
#include "probe/monitor/proc_file.hpp"

namespace {

using namespace plx::probe;
namespace fs = std::filesystem;

double value(const counter_registry& r, std::string_view name) { return r.query(name).value().at(0).value; }

struct fake_proc {
  const std::string root = testing::TempDir() + "plx_proc_" + std::to_string(::getpid());
  fake_proc() {
    fs::remove_all(root);
    fs::create_directories(root + "/net");
    fs::create_directories(root + "/self/task/77");
    file("/stat",
         "cpu  1000 200 300 4000 500 60 70 80 9 0\ncpu0 500 100 150 2000 250 30 35 40 0 0\n"
         "cpu1 500 100 150 2000 250 30 35 40 0 0\nintr 12345 0 9 3\nctxt 67890\nbtime 1\nprocesses 42\n"
         "procs_running 3\nprocs_blocked 1\n");
    file("/meminfo", "MemTotal:       1000 kB\nMemFree:         400 kB\nMemAvailable:    700 kB\nCached:  5 kB\n");
    file("/loadavg", "0.50 1.25 2.00 3/98 29962\n");
    file("/net/dev",
         "Inter-|   Receive                                                |  Transmit\n"
         " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo\n"
         "    lo:    9801      87    0    0    0     0          0         0     9801      87    0    0    0\n"
         "  eth0:1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n  eth1: 500 5 0 0 0 0 0 0 600 6 0 0 0 0 0 0\n"
         " total: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n br{x: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");  // no names for counters
    file("/self/status", "Name:\tx\nVmSize:\t    2048 kB\nRssAnon:\t 12 kB\nVmSwap:\t0 kB\nThreads:\t5\n");
    file("/self/io", "rchar: 6976\nwchar: 11\nsyscr: 10\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 8192\n");
    file("/self/task/77/status", "Name:\tx\nvoluntary_ctxt_switches:\t31\nnonvoluntary_ctxt_switches:\t8\n");
    file("/self/task/77/schedstat", "2500000000 500000000 39\n");
  }
  ~fake_proc() { fs::remove_all(root); }
  void file(const std::string& path, const std::string& text) { ASSERT_TRUE(plx::write_file(root + path, text)); }
};

TEST(Proc, NumbersOfKnownFiles) {
  fake_proc tree;
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_proc_counters(r, tree.root, &notes);
  EXPECT_TRUE(notes.empty());
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::map<std::string, double> expected{
      {"/system/cpu/user", 1000 * tick},
      {"/system/cpu/iowait", 500 * tick},
      {"/system/cpu/steal", 80 * tick},
      {"/system/cpu/busy", 1710.0 / 6210.0},
      {"/system{cpu#1}/cpu/busy", 855.0 / 3105.0},
      {"/system/context-switches", 67890},
      {"/system/interrupts", 12345},
      {"/system/processes/created", 42},
      {"/system/processes/blocked", 1},
      {"/system/memory/total", 1024000},
      {"/system/memory/free", 409600},
      {"/system/memory/available", 716800},
      {"/system/memory/cached", 5120},
      {"/system/load/1-minute", 0.5},
      {"/system/load/5-minutes", 1.25},
      {"/system/load/15-minutes", 2},
      {"/system/threads/runnable", 3},
      {"/system{eth0}/net/received", 1000},
      {"/system{eth0}/net/receive-errors", 1},
      {"/system{eth0}/net/send-drops", 4},
      {"/system{lo}/net/sent", 9801},
      {"/system/net/received", 1500},
      {"/system/net/sent-packets", 26},
      {"/machine/memory/virtual", 2097152},
      {"/machine/memory/anonymous", 12288},
      {"/machine/memory/swapped", 0},
      {"/machine/threads", 5},
      {"/machine/io/read", 6976},
      {"/machine/io/written", 11},
      {"/machine/io/read-calls", 10},
      {"/machine/io/write-calls", 2},
      {"/machine/io/disk-read", 4096},
      {"/machine/io/disk-written", 8192},
  };
  for (const auto& [name, v] : expected) EXPECT_DOUBLE_EQ(value(r, name), v) << name;
  EXPECT_FALSE(r.query("/system/swap/total"));  // not in the file
  for (const counter_info& c : r.list()) {
    EXPECT_FALSE(c.help.empty()) << c.name;
    EXPECT_FALSE(c.unit.empty()) << c.name;
  }
}

TEST(Proc, TheShareOfBusyTimeIsSinceTheLastReset) {
  fake_proc tree;
  counter_registry r;
  const auto keep = add_proc_counters(r, tree.root);
  ASSERT_TRUE(r.reset("/system/cpu/busy"));
  tree.file("/stat", "cpu  1030 200 300 4070 500 60 70 80 9 0\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than the cache lifetime
  EXPECT_NEAR(value(r, "/system/cpu/busy"), 0.3, 1e-12);
  EXPECT_NE(r.query("/system{cpu#1}/cpu/busy").error().message.find("expected 'cpu1'"), std::string::npos);
}

TEST(Proc, MissingFilesAreIgnored) {
  fake_proc tree;
  fs::remove(tree.root + "/self/io");
  fs::remove_all(tree.root + "/net");
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_proc_counters(r, tree.root, &notes);
  EXPECT_EQ(notes.size(), 2u);
  EXPECT_FALSE(r.query("/machine/io/read"));
  EXPECT_TRUE(r.query("/machine/threads"));
  fs::remove(tree.root + "/loadavg");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_NE(r.query("/system/load/1-minute").error().message.find("loadavg"), std::string::npos);
  tree.file("/loadavg", "what is this\n");
  EXPECT_NE(r.query("/system/load/1-minute").error().message.find("found none"), std::string::npos);
  counter_registry empty;
  EXPECT_TRUE(add_proc_counters(empty, "/no/such/proc").empty());
}

TEST(Proc, OneThread) {
  fake_proc tree;
  const auto u = usage_of_thread(77, tree.root);
  ASSERT_TRUE(u) << u.error().message;
  EXPECT_EQ(u->voluntary_switches, 31);
  EXPECT_EQ(u->involuntary_switches, 8);
  EXPECT_DOUBLE_EQ(u->processor_s, 2.5);
  EXPECT_DOUBLE_EQ(u->waiting_s, 0.5);
  fs::remove(tree.root + "/self/task/77/schedstat");
  EXPECT_EQ(usage_of_thread(77, tree.root)->processor_s, 0);
  EXPECT_FALSE(usage_of_thread(78, tree.root));
}

TEST(Proc, LinesAndWords) {
  EXPECT_EQ(words_of_line("ab 1\n a 2 3\n", "a")->size(), 2u);
  EXPECT_EQ(words_of_line("x:5 6\n", "x:")->at(0), "5");
  EXPECT_FALSE(words_of_line("ab 1", "a"));
  EXPECT_FALSE(words_of_line("", "a"));
  EXPECT_EQ(*number_of("12kB"), 12);
  EXPECT_FALSE(number_of("kB"));
  EXPECT_FALSE(number_of(""));
}

TEST(Proc, OnThisMachine) {
  if (!fs::exists("/proc/self/status")) GTEST_SKIP() << "no /proc";
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_proc_counters(r, "/proc", &notes);
  for (const std::string& n : notes) std::printf("%s\n", n.c_str());
  EXPECT_GE(keep.size(), 30u);
  EXPECT_EQ(r.query("/*{*}/*")->size(), keep.size());
  EXPECT_GE(value(r, "/machine/threads"), 1);
  EXPECT_GT(value(r, "/system/memory/total"), value(r, "/machine/memory/anonymous"));
  const auto me = usage_of_thread(static_cast<int>(::gettid()));
  ASSERT_TRUE(me);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(usage_of_thread(static_cast<int>(::gettid()))->voluntary_switches, me->voluntary_switches);
}

}  // namespace
