// A thread of the operating system for each task.
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "library/contest.hpp"
#include "suspended/suspended.hpp"

namespace {

const plx::bench::entry<suspended_run> me("std", [](long tasks, void (*all_wait)()) {
  std::atomic<long> waiting{0}, ended{0};
  std::latch go(1);
  std::vector<std::thread> threads;
  for (long i = 0; i < tasks; ++i)
    threads.emplace_back([&] {
      waiting.fetch_add(1, std::memory_order_relaxed);
      go.wait();
      ended.fetch_add(1, std::memory_order_relaxed);
    });
  while (waiting.load(std::memory_order_relaxed) != tasks) std::this_thread::yield();
  plx::bench::settle();
  all_wait();
  go.count_down();
  for (std::thread& t : threads) t.join();
  return ended.load();
});

}  // namespace
