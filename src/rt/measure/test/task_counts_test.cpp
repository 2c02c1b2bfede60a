// Events and stated work by task type, in runs whose answer follows from their structure.
#include "probe/monitor/task_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/sanitizers.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/monitor/test/page_faults_test.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/work.hpp"
#include "probe/settings.hpp"
#include "rt/future.hpp"
#include "rt/measure/test/counted_by_hand_test.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace plx {
namespace {

task_info type(const char* name) { return {probe::register_name(name), probe::no_key}; }

using plx::testing::fault;

/// On every schedule: work counts for the type of the task that states it, also before and after it was suspended, in
/// children that run inline, and in named ones that run in the frame of their parent.
TEST(TaskCounts, WorkIsOfTheTaskThatStatesIt) {
  for (std::uint64_t seed = 1; seed <= testing::seed_count(); ++seed) {
    runtime rt({.workers = 3, .deterministic = true, .seed = seed});
    const probe::task_counts counts(rt.recorder(), true);
    rt.run(type("counts main"), [] {
      task_group g;
      for (int i = 0; i < 8; ++i) {
        g.run(type("counts waits"), [] {
          probe::count_work(1, 10);
          this_thread::yield();
          probe::count_work(2, 20);
        });
        g.run([] { probe::count_work(1000, 0); });  // part of a parent, or of the type of its lambda if it was stolen
        g.run(type("counts parent"), [] {
          probe::count_work(100, 0);
          task_group inner;
          inner.run(type("counts waits"), [] { probe::count_work(1, 0); });
          inner.wait();
          probe::count_work(100, 0);
        });
      }
      g.wait();
    });
    const probe::counts_of_tasks all = counts.sums();
    const auto of = [&](const char* name) { return all.of(probe::register_name(name)); };
    EXPECT_EQ(of("counts waits").bytes, 8 * 30) << seed;
    double flops = 0;
    for (const auto& t : all.by_name) flops += t.flops;
    EXPECT_EQ(flops, 8 * (3 + 1000 + 200 + 1)) << seed;
    // Unnamed children may run in the frame of a task that waits: 1000 each.
    EXPECT_EQ(static_cast<int>(of("counts waits").flops) % 1000, 8 * 4) << seed;
    EXPECT_EQ(static_cast<int>(of("counts parent").flops) % 1000, (8 * 200) % 1000) << seed;
  }
}

struct measured_run {
  std::string profile, summary;

  /// The number in a row and column of profile.csv.
  [[nodiscard]] double cell(const std::string& name, const std::string& column) const {
    std::istringstream lines(profile);
    std::string line;
    std::getline(lines, line);
    const auto cells = [](const std::string& of) {
      std::vector<std::string> all;
      std::istringstream in(of);
      for (std::string one; std::getline(in, one, ',');) all.push_back(one);
      return all;
    };
    const std::vector<std::string> head = cells(line);
    const auto at = std::find(head.begin(), head.end(), column) - head.begin();
    while (std::getline(lines, line)) {
      const std::vector<std::string> row = cells(line);
      if (row[0] == name && at < static_cast<std::ptrdiff_t>(row.size()))
        return std::stod(row[static_cast<std::size_t>(at)]);
    }
    ADD_FAILURE() << "no " << name << " or " << column << " in\n" << profile;
    return 0;
  }
  [[nodiscard]] double sum(const std::string& column) const {
    double all = 0;
    std::istringstream lines(profile);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) all += cell(line.substr(0, line.find(',')), column);
    return all;
  }
  /// The number behind `key` in measurement.json.
  [[nodiscard]] double number(const std::string& key) const {
    const auto at = summary.find('"' + key + "\":");
    if (at != std::string::npos) return std::stod(summary.substr(at + key.size() + 3));
    ADD_FAILURE() << "no " << key << " in\n" << summary;
    return 0;
  }
};

template <class Program>
measured_run run_measured(const char* name, bool roofline, Program program) {
  auto s = std::make_shared<probe::settings>();
  s->output = probe::temporary_path(name);
  s->profile = "csv";
  s->perf = "page-faults";
  s->perf_tasks = true;
  s->roofline = roofline;
  {
    runtime rt({.workers = 2, .measure = s});
    program(rt);
  }
  return {read_file(s->output + "/profile.csv").value_or(""), read_file(s->output + "/measurement.json").value_or("")};
}

/// False on a machine without events of the kernel.
bool has_page_faults() {
  auto s = std::make_shared<probe::settings>();
  s->perf = "page-faults";
  runtime rt({.workers = 1, .measure = s});
  return !rt.counters().query("/perf{locality#0/total}/page-faults").value_or({}).empty();
}

TEST(TaskCounts, PageFaultsAreOfTheTaskTypesThatHaveThem) {
  if (!has_page_faults()) GTEST_SKIP() << "the kernel counts no page faults here";
  constexpr std::size_t pages = 400;
  double counter = 0;
  const measured_run run = run_measured("counts_faults", false, [&](runtime& rt) {
    std::atomic<bool> polled{false};
    const std::uint64_t poller = rt.add_poller(
        [](void* p) {
          if (!static_cast<std::atomic<bool>*>(p)->exchange(true)) fault(2 * pages);
          return poll_result::idle;
        },
        &polled);
    rt.run(type("counts main"), [] {
      task_group g;
      for (int i = 0; i < 20; ++i) {
        g.run(type("counts touch"), [] {
          fault(pages);
          this_thread::yield();  // two slices
          fault(pages);
        });
        g.run(type("counts spin"), [] { this_thread::yield(); });
        g.run(type("counts with child"), [] {
          task_group inner;
          inner.run([] { fault(pages); });
          inner.wait();
        });
      }
      g.wait();
    });
    while (!polled) rt.ask_pollers();
    rt.remove_poller(poller);
    counter = rt.counters().query("/perf{locality#0/total}/page-faults").value().at(0).value;
  });
  EXPECT_GE(run.cell("counts touch", "perf:page-faults"), 40.0 * pages);
  EXPECT_GE(run.sum("perf:page-faults"), 60.0 * pages);
  const double in_tasks = run.number("page-faults\":{\"tasks"), outside = run.number("no_task");
  EXPECT_EQ(run.sum("perf:page-faults"), in_tasks);
  EXPECT_GE(outside, 2.0 * pages) << "those of the poller";
  EXPECT_GE(in_tasks + outside, counter);
#ifndef PLX_TSAN  // which touches memory of its own for each page, and for a thread
  EXPECT_LT(run.cell("counts touch", "perf:page-faults"), 60.0 * pages);
  EXPECT_LT(run.cell("counts spin", "perf:page-faults"), pages);
  EXPECT_LT(in_tasks + outside, counter + pages) << "those since the counter was read";
#endif
}

TEST(TaskCounts, EventsOfAPollerAreNotOfTheTaskThatWaits) {
  struct poll_state {
    counted_by_hand& event;
    std::atomic<bool> waits{false};
    promise<void> answer{};
  };
  runtime rt({.workers = 1, .bind = false});
  counts_by_hand counts(rt);
  poll_state s{counts.event()};
  const std::uint64_t poller = rt.add_poller(
      [](void* p) {
        auto& state = *static_cast<poll_state*>(p);
        if (!state.waits.exchange(false)) return poll_result::pending;
        state.event.n += 1000;
        state.answer.set_value();
        return poll_result::progressed;
      },
      &s);
  rt.run(type("counts answer"), [&] {
    future<void> f = s.answer.get_future();
    s.waits = true;
    f.get();
    s.event.n += 1;
  });
  rt.remove_poller(poller);
  const probe::counts_of_tasks all = counts.sums_at_the_end();
  EXPECT_EQ(all.of(probe::register_name("counts answer")).events[0], 1u);
  EXPECT_EQ(all.no_task[0], 1000u);
}

TEST(TaskCounts, ARooflineHasStatedWorkAndTheLimits) {
  const measured_run run = run_measured("counts_roofline", true, [](runtime& rt) {
    rt.run(type("counts main"), [] {
      task_group g;
      for (int i = 0; i < 10; ++i) g.run(type("counts work"), [] { probe::count_work(1e6, 2e6); });
      g.wait();
    });
    probe::count_work(1e9, 1e9);  // outside of tasks
  });
  EXPECT_EQ(run.cell("counts work", "flops"), 1e7);
  EXPECT_EQ(run.cell("counts work", "bytes"), 2e7);
  EXPECT_EQ(run.sum("flops"), 1e7);
  EXPECT_EQ(run.number("threads"), 2);
  EXPECT_GT(run.number("flops_per_s"), 0);
  EXPECT_GT(run.number("bytes_per_s"), 0);
}

}  // namespace
}  // namespace plx
