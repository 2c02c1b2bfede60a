#include "probe/monitor/monitors.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "probe/counters/counter_printer.hpp"

namespace {

using namespace plx::probe;

double value(const counter_registry& r, std::string_view name) { return r.query(name).value().at(0).value; }

/// `pages` page faults of the calling thread.
void touch(std::size_t pages) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, pages * page);
}

/// A thread that touches pages on request.
struct faulting_thread {
  std::atomic<int> id{0};
  std::atomic<int> step{0};
  std::thread thread{[this] {
    id = gettid();
    step.wait(0);
    touch(5000);
    step = 2;
    step.notify_all();
    step.wait(2);
  }};
  faulting_thread() {
    while (id == 0) std::this_thread::yield();
  }
  void fault() {
    step = 1;
    step.notify_all();
    step.wait(1);
  }
  ~faulting_thread() {
    step = 3;
    step.notify_all();
    thread.join();
  }
};

TEST(Perf, EventsOfOneThreadNotOfOthers) {
  faulting_thread worker;
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep =
      add_perf_counters(r, "page-faults,task-clock",
                        {{"locality#0/worker-thread#0", worker.id}, {"locality#0/worker-thread#1", gettid()}}, &notes);
  if (!notes.empty()) GTEST_SKIP() << notes[0];
  worker.fault();
  touch(50);
  const double theirs = value(r, "/perf{locality#0/worker-thread#0}/page-faults");
  const double ours = value(r, "/perf{locality#0/worker-thread#1}/page-faults");
  EXPECT_GE(theirs, 5000);
  EXPECT_GE(ours, 50);
  EXPECT_LT(ours, 5000);
  EXPECT_GE(value(r, "/perf/page-faults"), theirs + ours);
  EXPECT_GT(value(r, "/perf{locality#0/worker-thread#1}/task-clock"), 0);
  EXPECT_LT(value(r, "/perf{locality#0/worker-thread#1}/task-clock"), 60);
}

TEST(Perf, WithoutThreadsTheCallerAndItsThreadsAreCounted) {
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_perf_counters(r, "page-faults", {}, &notes);
  if (!notes.empty()) GTEST_SKIP() << notes[0];
  {
    faulting_thread made_later;
    made_later.fault();
  }
  EXPECT_GE(value(r, "/perf{process}/page-faults"), 5000);
}

TEST(Perf, AnEventNamedTwiceIsCountedOnce) {
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_perf_counters(r, "page-faults,task-clock,page-faults", {}, &notes);
  if (!notes.empty()) GTEST_SKIP() << notes[0];
  EXPECT_EQ(keep.size(), 2u);
}

TEST(Perf, UnavailableEventsAreReported) {
  counter_registry r;
  std::vector<std::string> notes;
  (void)add_perf_counters(r, "page-fults", {}, &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(
      notes[0].starts_with("unknown perf event 'page-fults'; did you mean 'page-faults'?; expected one or more of"))
      << notes[0];
  notes.clear();
  (void)add_perf_counters(r, "page-faults", {{"gone", 0x3ffffffe}}, &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("perf event 'page-faults' is omitted: ")) << notes[0];
}

TEST(Perf, OneNoteForAllAndNoTotalOfAPart) {
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_perf_counters(r, "1", {{"locality#0/worker-thread#0", gettid()}, {"gone", 0x3ffffffe}}, &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("perf events are omitted: ")) << notes[0];
  for (const std::string& name : perf_event_names()) EXPECT_NE(notes[0].find(name), std::string::npos) << notes[0];
  EXPECT_FALSE(r.query("/perf{locality#0/total}/*"));
}

/// Many threads with a small limit: events that do not fit are reported in one line, and the program can still open
/// files.
TEST(Perf, HalfOfTheFileDescriptorsAreKeptForTheProgram) {
  struct low_limit {
    low_limit() {
      getrlimit(RLIMIT_NOFILE, &before);
      const rlimit low{.rlim_cur = 128, .rlim_max = before.rlim_max};
      setrlimit(RLIMIT_NOFILE, &low);
    }
    ~low_limit() { setrlimit(RLIMIT_NOFILE, &before); }
    rlimit before{};
  } const limited;
  std::vector<watched_thread> threads;
  for (int i = 0; i < 40; ++i) threads.push_back({"locality#0/worker-thread#" + std::to_string(i), gettid()});
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_perf_counters(r, "1", threads, &notes);
  ASSERT_EQ(notes.size(), 1u);
  if (keep.empty()) GTEST_SKIP() << notes[0];
  EXPECT_NE(notes[0].find("half of the 128 file descriptors are kept for the program"), std::string::npos) << notes[0];
  EXPECT_EQ(keep.size() % (threads.size() + 1), 0u) << "each event is counted on all threads, or omitted";
  std::vector<int> files;
  for (int i = 0; i < 50; ++i) files.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_GE(files.back(), 0);
  for (const int f : files) ::close(f);
}

/// Each known event is counted or reported as missing; "all" reports nothing.
TEST(Perf, OnThisMachine) {
  counter_registry one, all;
  std::vector<std::string> notes, none;
  std::string events;
  for (const std::string& name : perf_event_names()) events += name + ",";
  const auto keep = add_perf_counters(one, events, {}, &notes);
  for (const std::string& n : notes) std::printf("%s\n", n.c_str());
  EXPECT_EQ(keep.size() + notes.size(), perf_event_names().size());
  for (const counter_info& c : one.list()) {
    const auto v = one.query(c.name);
    EXPECT_TRUE(v) << c.name;
    if (v) std::printf("%s", counters_as_text(*v, 0).c_str());
  }
  EXPECT_EQ(add_perf_counters(all, "all", {}, &none).size(), keep.size());
  EXPECT_TRUE(none.empty());
}

}  // namespace
