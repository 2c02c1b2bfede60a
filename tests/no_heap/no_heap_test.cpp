// Tasks are measured, traced and monitored without heap allocation: counts every operator new of this program while a
// warm runtime runs the same tasks with each type of measurement enabled. Waits that find no memory have no effect.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <vector>

#include "probe/record/recorder.hpp"
#include "probe/record/test/allocations_test.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

namespace {

namespace probe = plx::probe;

struct counting_observer final : probe::task_observer {
  void on_event(const probe::task_event&) noexcept override { events.fetch_add(1, std::memory_order_relaxed); }
  std::atomic<long> events{0};
};

/// Tasks of all types: created and awaited, children stolen or not, suspended and resumed.
long allocations_of_tasks(std::vector<plx::future<int>>& futures) {
  static const plx::task_info info{probe::register_name("no_heap_test"), 5};
  const long before = allocations;
  for (auto& f : futures) f = plx::async(info, [] { return 1; });
  int sum = 0;
  for (auto& f : futures) sum += f.get();
  plx::task_group group;
  for (int i = 0; i < 20; ++i) group.run(info, [] { plx::async(info, [] { return 2; }).get(); });
  group.wait();
  EXPECT_EQ(sum, static_cast<int>(futures.size()));
  return allocations - before;
}

TEST(NoHeap, TasksAreMeasuredWithoutAllocation) {
  counting_observer watching;
  plx::runtime rt({.workers = 1, .bind = false});  // with one worker, the pool stays warm for every run
  probe::recorder& r = rt.recorder();
  r.trace(true, 1u << 10);  // overflows: dropped records must not allocate either
  r.observe(&watching);
  rt.run([] {
    std::vector<plx::future<int>> futures(500);
    for (int warm = 0; warm < 20; ++warm) allocations_of_tasks(futures);
    EXPECT_EQ(allocations_of_tasks(futures), 0);
  });
  EXPECT_GT(r.trace_lost(), 0u);
  EXPECT_GT(watching.events, 0);
  r.observe(nullptr);
  r.trace(false);
  r.paths(true);
  rt.run([] {
    std::vector<plx::future<int>> futures(500);
    allocations_of_tasks(futures);
    EXPECT_EQ(allocations_of_tasks(futures), 0);
  });
}

template <class F>
bool is_refused(long allocations_before, F&& wait) {
  allocations_left = allocations_before;
  bool refused = false;
  try {
    wait();
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  allocations_left = -1;
  return refused;
}

TEST(NoHeap, ATimedWaitWithoutMemoryForItsTimerHasNoEffect) {
  using namespace std::chrono_literals;
  plx::runtime rt({.workers = 1, .bind = false});
  plx::counting_semaphore<> places(0);
  plx::promise<int> p;
  plx::future<int> f = p.get_future();
  rt.run([&] {
    EXPECT_TRUE(is_refused(0, [&] { (void)places.try_acquire_for(1h); }));
    EXPECT_TRUE(is_refused(1, [&] { f.wait_for(1h); }));  // the one is the node of the wait
  });
  places.release();
  EXPECT_TRUE(places.try_acquire());
  p.set_value(7);
  EXPECT_EQ(f.get(), 7);
}

}  // namespace
