// A runtime without work uses almost no CPU time. Measured as CPU time of this whole process, which other programs do
// not change.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"

namespace {

using namespace std::chrono_literals;

double processor_seconds() {
  std::timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// True when the runtime becomes idle. Workers fall asleep after a millisecond if they get a core immediately.
bool rests(double most_of_a_core) {
  return plx::comes_true([most_of_a_core] {
    const auto begin = std::chrono::steady_clock::now();
    const double used = processor_seconds();
    std::this_thread::sleep_for(100ms);
    const double share_used = processor_seconds() - used;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    return share_used < most_of_a_core * passed.count();
  });
}

#if defined(PLX_TSAN) || defined(PLX_ASAN)
constexpr double bound = 0.1;  // the sanitizers' own threads, and ten times the cost of every step
#else
constexpr double bound = 0.01;
#endif

TEST(idle, a_runtime_that_has_had_no_work) {
  plx::runtime rt({.workers = 4});
  EXPECT_TRUE(rests(bound));
}

TEST(idle, a_runtime_after_work_with_tasks_that_wait) {
  plx::runtime rt({.workers = 4});
  plx::latch never_mind(1);
  std::atomic<bool> rested{false};
  rt.run([] {
    for (int i = 0; i < 1000; ++i) plx::post([] { plx::this_thread::yield(); });
  });
  rt.post([&never_mind] { never_mind.wait(); });
  rt.post([&rested] {
    while (!rested) plx::this_thread::sleep_for(500ms);
  });
  EXPECT_TRUE(rests(bound));
  rested = true;
  never_mind.count_down();
}

}  // namespace
