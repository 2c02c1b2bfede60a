// A runtime without work leaves its cores alone: processor time of this whole process, which other programs on the
// machine do not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "rt/detail/platform.hpp"
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

// The least share of a core over some spans of time, so that one disturbance decides nothing.
double idle_share() {
  std::this_thread::sleep_for(20ms);  // workers go to sleep after a millisecond
  double least = 1;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double used = processor_seconds();
    std::this_thread::sleep_for(100ms);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    least = std::min(least, (processor_seconds() - used) / passed.count());
  }
  return least;
}

#if defined(PLX_TSAN) || defined(PLX_ASAN)
constexpr double bound = 0.1;  // the sanitizers' own threads, and ten times the cost of every step
#else
constexpr double bound = 0.01;
#endif

TEST(idle, a_runtime_that_has_had_no_work) {
  plx::runtime rt({.workers = 4});
  EXPECT_LT(idle_share(), bound);
}

TEST(idle, a_runtime_after_work_with_tasks_that_wait) {
  plx::runtime rt({.workers = 4});
  plx::latch never_mind(1);
  rt.run([] {
    for (int i = 0; i < 1000; ++i) plx::post([] { plx::this_thread::yield(); });
  });
  rt.post([&never_mind] { never_mind.wait(); });
  rt.post([] { plx::this_thread::sleep_for(500ms); });
  EXPECT_LT(idle_share(), bound);
  never_mind.count_down();
}

}  // namespace
