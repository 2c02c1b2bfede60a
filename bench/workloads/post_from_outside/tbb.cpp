#include "library/tbb.hpp"

#include <atomic>
#include <thread>

#include "library/contest.hpp"

namespace {

long post(int tasks) {
  std::atomic<long> ran{0};
  auto& arena = plx::bench::tbb_arena();
  for (int i = 0; i < tasks; ++i) arena.enqueue([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
  while (ran.load(std::memory_order_relaxed) != tasks) std::this_thread::yield();
  return ran;
}

const plx::bench::entry<long(int)> me("tbb", post);

}  // namespace
