#include "probe/monitor/perf_group.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "probe/monitor/monitors.hpp"
#include "probe/monitor/perf_page.hpp"
#include "probe/monitor/test/page_faults_test.hpp"

namespace {

using namespace plx::probe;

// ---- reading the kernel's page

struct PerfPage : testing::Test {
  perf_event_mmap_page page{};
  PerfPage() {
    page.cap_user_rdpmc = 1;
    page.index = 3;
    page.offset = 1000;
    page.pmc_width = 48;
  }
};

TEST_F(PerfPage, TheCountIsTheOffsetPlusTheCounter) {
  std::uint32_t read = 0;
  const auto count = detail::read_perf_page(page, [&](std::uint32_t i) { return read = i, std::uint64_t{234}; });
  EXPECT_EQ(count, 1234u);
  EXPECT_EQ(read, 2u);  // index 1 is counter 0
}

TEST_F(PerfPage, TheHighestBitOfTheCounterIsASign) {
  constexpr std::uint64_t minus_five = (std::uint64_t{1} << 48) - 5;
  EXPECT_EQ(detail::read_perf_page(page, [](std::uint32_t) { return minus_five; }), 995u);
  page.pmc_width = 64;
  EXPECT_EQ(detail::read_perf_page(page, [](std::uint32_t) { return ~std::uint64_t{0}; }), 999u);
}

TEST_F(PerfPage, BitsAboveTheCounterDoNotCount) {
  page.pmc_width = 40;
  EXPECT_EQ(detail::read_perf_page(page, [](std::uint32_t) { return std::uint64_t{0xab} << 40 | 7; }), 1007u);
}

TEST_F(PerfPage, AChangeDuringTheReadRepeatsIt) {
  int reads = 0;
  const auto count = detail::read_perf_page(page, [&](std::uint32_t i) {
    if (++reads == 1) {  // the thread was moved: another counter continues from another offset
      page.lock += 2;
      page.index = 6;
      page.offset = 5000;
    }
    return std::uint64_t{10} * i;
  });
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(count, 5050u);
}

TEST_F(PerfPage, AnEventThatLosesItsCounterDuringTheReadIsNotReadable) {
  const auto count = detail::read_perf_page(page, [&](std::uint32_t) {
    page.lock += 2;
    page.index = 0;
    return std::uint64_t{0};
  });
  EXPECT_EQ(count, std::nullopt);
}

TEST_F(PerfPage, WithoutCounterOrPermissionItIsNotReadable) {
  const auto not_called = [](std::uint32_t) -> std::uint64_t { throw std::logic_error("the counter was read"); };
  page.index = 0;
  EXPECT_EQ(detail::read_perf_page(page, not_called), std::nullopt);
  page.index = 3;
  page.cap_user_rdpmc = 0;
  EXPECT_EQ(detail::read_perf_page(page, not_called), std::nullopt);
}

// ---- events of a thread

using plx::testing::fault;

/// A thread as a worker whose page faults the kernel counts: those of each task type and of none are known at least,
/// and all of them sum to the counter of `perf`, exactly.
TEST(PerfGroup, TypesAndNoTaskSumToTheCounterOfTheWorker) {
  const name_id many = register_name("many faults"), few = register_name("few faults");
  recorder r(1);
  std::atomic<int> id{0}, step{0};
  const auto reaches = [&](int n) {
    for (int now = step; now < n; now = step) step.wait(now);
  };
  const auto next = [&](int n) { step = n, step.notify_all(); };
  std::jthread thread([&] {
    id = gettid(), id.notify_all();
    reaches(1);
    worker_log& log = r.worker(0);
    plx::ticks now = 100;
    for (int i = 0; i < 10; ++i) {
      fault(50);
      log.notify(task_event_kind::start, many, no_key, now += 10);
      fault(300);
      log.record({.name = many, .begin = now, .end = now + 10}), now += 10;
      fault(2);
      log.record({.name = few, .begin = now, .end = now + 10}), now += 10;
    }
    next(2);
    reaches(3);
  });
  id.wait(0);
  counter_registry registry;
  std::vector<std::string> notes;
  const std::vector<watched_thread> threads{{"locality#0/worker-thread#0", id}};
  const perf_groups groups = open_perf_groups("page-faults,task-clock", threads, notes);
  const auto keep = add_perf_counters(registry, "page-faults,task-clock", threads, &notes, &groups);
  if (groups.threads.empty()) {
    next(3);
    GTEST_SKIP() << (notes.empty() ? "no events" : notes[0]);
  }
  EXPECT_EQ(groups.index_of("task-clock"), 1);
  EXPECT_EQ(groups.index_of("cycles"), -1);
  {
    const task_counts counts(r, false, groups.events, groups.threads);
    next(1);
    reaches(2);
    const counts_of_tasks all = counts.sums();
    const auto counter = [&](const char* name) { return registry.query(name).value().at(0).value; };
    EXPECT_EQ(static_cast<double>(all.total[0]), counter("/perf{locality#0/worker-thread#0}/page-faults"));
    EXPECT_EQ(static_cast<double>(all.total[0]), counter("/perf{locality#0/total}/page-faults"));
    EXPECT_EQ(all.of(many).events[0] + all.of(few).events[0] + all.no_task[0], all.total[0]);
    EXPECT_GE(all.of(many).events[0], 3000u);
    EXPECT_LT(all.of(many).events[0], 3300u);
    EXPECT_GE(all.of(few).events[0], 20u);
    EXPECT_LT(all.of(few).events[0], 320u);
    EXPECT_GE(all.no_task[0], 500u);
    EXPECT_LT(all.no_task[0], 800u);
    EXPECT_GT(all.of(many).events[1], 0u);
    EXPECT_EQ(all.counted, 1);
    EXPECT_EQ(all.failed_reads, 0u);
    next(3);
    thread.join();
  }
}

TEST(PerfGroup, UnknownEventsAreReportedOnceAndByTheCounters) {
  std::vector<std::string> notes;
  const perf_groups groups = open_perf_groups("page-fault", {{"w", gettid()}}, notes);
  EXPECT_TRUE(groups.threads.empty());
  EXPECT_TRUE(notes.empty());
}

}  // namespace
