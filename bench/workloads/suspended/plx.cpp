#include <atomic>
#include <thread>

#include "library/contest.hpp"
#include "library/plx.hpp"
#include "rt/latch.hpp"
#include "suspended/suspended.hpp"

namespace {

const plx::bench::entry<suspended_run> me("plx", [](long tasks, void (*all_wait)()) {
  std::atomic<long> waiting{0}, ended{0};
  plx::latch go(1);
  auto& runtime = plx::bench::plx_runtime();
  for (long i = 0; i < tasks; ++i)
    runtime.post([&] {
      waiting.fetch_add(1, std::memory_order_relaxed);
      go.wait();
      ended.fetch_add(1, std::memory_order_release);
    });
  while (waiting.load(std::memory_order_relaxed) != tasks) std::this_thread::yield();
  plx::bench::settle();  // the last task reports that it waits just before it does
  all_wait();
  go.count_down();
  while (ended.load(std::memory_order_acquire) != tasks) std::this_thread::yield();
  return ended.load();
});

}  // namespace
