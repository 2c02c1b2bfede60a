// suspended/LIBRARY: bytes of resident memory per waiting task (std: per thread; neither counts the kernel's own
// tables). suspended/LIBRARY/time: ns of wall time to create, suspend, wake and end it.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/latch.hpp"

namespace {

using plx::bench::entry;

/// Creates `tasks` tasks that wait for one event, calls `all_wait()` when all of them wait, and ends them. Returns the
/// number that ended.
using suspended_run = long(long tasks, void (*all_wait)());

const entry<suspended_run> with_plx("plx", [](long tasks, void (*all_wait)()) {
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

// ---- standard library
// A thread of the operating system for each task.
const entry<suspended_run> with_std("std", [](long tasks, void (*all_wait)()) {
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

// ---- measurement
double resident_bytes() {
  long total = 0, resident = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  if (f == nullptr || std::fscanf(f, "%ld %ld", &total, &resident) != 2)
    plx::bench::wrong_result("suspended", "needs /proc/self/statm");
  std::fclose(f);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double while_waiting = 0;

long tasks_for(const entry<suspended_run>& e, bool quick) {
  const long n = e.is("std") ? 2'000 : 200'000;
  return quick ? n / 10 : n;
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  for (const auto* e : entry<suspended_run>::all()) {
    // Once: a second run would reuse the memory of the first.
    const long tasks = tasks_for(*e, c.quick);
    const auto& library = plx::bench::library::of(e->label);
    library.start(c.threads);
    e->run(10, [] {});
    const double before = resident_bytes();
    long ended = 0;
    const auto time = plx::bench::timed([&] { ended = e->run(tasks, [] { while_waiting = resident_bytes(); }); });
    plx::bench::expect_same(e->label, ended, tasks);
    library.stop();
    c.disturbed(time, c.threads);
    const double n = static_cast<double>(tasks);
    c.numbers.add(std::string("suspended/") + e->label, (while_waiting - before) / n, "bytes", plx::bench::lower);
    c.numbers.add(std::string("suspended/") + e->label + "/time", time.wall_s / n * 1e9, "ns", plx::bench::lower);
  }
  return c.finish();
}
