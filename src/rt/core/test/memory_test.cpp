// Memory of many suspended tasks, and the memory kept after they have ended.
//
// With a million tasks: PLX_SUSPENDED=1000000 build/release/bin/rt_test --gtest_filter='memory.*' (5 GiB of memory).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/clock.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/event.hpp"
#include "rt/executor.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"

namespace {

double resident_bytes() {
  long pages = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::size_t tasks_wanted() {
  if (const char* text = std::getenv("PLX_SUSPENDED")) return std::strtoull(text, nullptr, 10);
#if defined(PLX_TSAN) || defined(PLX_ASAN)
  return 2000;
#else
  return 100'000;
#endif
}

TEST(memory, suspended_tasks_cost_the_page_they_touched_and_less_than_a_kilobyte) {
  const std::size_t n = tasks_wanted();
  constexpr std::size_t warm = 1024;
  plx::runtime rt({.workers = 2, .bind = false, .warm_stacks = warm});
  rt.run([] {});
  const double before = resident_bytes();
  double during = 0;
  double begin_s = plx::monotonic_seconds(), suspended_s = 0;
  rt.run([&] {
    plx::latch all_here(static_cast<std::ptrdiff_t>(n)), go(1), ended(static_cast<std::ptrdiff_t>(n));
    for (std::size_t i = 0; i < n; ++i)
      plx::post([&] {
        all_here.count_down();
        go.wait();
        ended.count_down();
      });
    all_here.wait();
    suspended_s = plx::monotonic_seconds() - begin_s;
    during = resident_bytes();
    begin_s = plx::monotonic_seconds();
    go.count_down();
    ended.wait();
  });
  const double ended_s = plx::monotonic_seconds() - begin_s;
  const double each = (during - before) / static_cast<double>(n);
  const double after = resident_bytes() - before;
  std::printf(
      "%zu tasks: %.0f B each while they wait (%.2f us each to get there), %.1f MiB left (%.2f us each to end)\n", n,
      each, suspended_s * 1e6 / static_cast<double>(n), after / 1048576, ended_s * 1e6 / static_cast<double>(n));
#if !defined(PLX_TSAN) && !defined(PLX_ASAN)
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  EXPECT_LT(each, page + 1024);
  // Left: the warm stacks, what the workers keep, and what describes the cold ones.
  EXPECT_LT(after, (warm + 256) * 2 * page + 1024.0 * static_cast<double>(n) + 16 * 1048576);
  const auto value = [&rt](const char* name) { return rt.counters().query(name).value().at(0).value; };
  EXPECT_LE(value("/scheduler{locality#0/total}/stacks/warm"), static_cast<double>(warm) + 64);
  EXPECT_GT(value("/scheduler{locality#0/total}/stacks/cold"), static_cast<double>(n) * 0.9 - 2 * warm);
#endif
  // Again, on stacks whose memory was returned.
  std::atomic<int> again{0};
  rt.run([&again] {
    plx::latch go(1);
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 3000; ++i)
      all.push_back(plx::async([&] {
        go.wait();
        again.fetch_add(1);
      }));
    go.count_down();
    for (auto& f : all) f.get();
  });
  EXPECT_EQ(again.load(), 3000);
}

// Stacks of a requested size are reused; all but a few of the free ones return their memory.
TEST(memory, stacks_of_a_size_that_tasks_asked_for) {
  constexpr int n = 100;
  constexpr std::size_t touched = std::size_t{512} << 10;
  plx::runtime rt({.workers = 2, .bind = false});
  const auto ex = rt.get_executor().with_stack_size(2 * touched);
  for (int round = 0; round < 2; ++round) {
    [[maybe_unused]] const double before = resident_bytes();
    rt.run([&] {
      plx::event go_on;
      std::vector<plx::future<int>> all;
      for (int i = 0; i < n; ++i)
        all.push_back(plx::async(ex, [&go_on] {
          volatile char large[touched];
          for (std::size_t k = 0; k < touched; k += 1024) large[k] = 1;
          go_on.wait();
          return static_cast<int>(large[1024]);
        }));
      go_on.set();
      for (auto& f : all) EXPECT_EQ(f.get(), 1);
    });
#if !defined(PLX_TSAN) && !defined(PLX_ASAN)
    EXPECT_LT(resident_bytes() - before, 0.5 * n * static_cast<double>(touched));
#endif
  }
}

}  // namespace
