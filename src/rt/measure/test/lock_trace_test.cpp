// The locks and placements of a trace are those of the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "probe/record/recorder.hpp"
#include "rt/async.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace plx {
namespace {

task_info lock_task(std::uint64_t key) { return {probe::register_name("lock_trace_test"), key}; }

/// The trace once it is complete: the last slice is recorded after its task's result is seen.
template <class IsComplete>
probe::trace_data trace_when(probe::recorder& r, IsComplete is_complete) {
  for (;;) {
    probe::trace_data d = r.collect_trace();
    if (is_complete(d)) return d;
    std::this_thread::yield();
  }
}

std::size_t holds_of(const probe::trace_data& d, const void* object) {
  return static_cast<std::size_t>(std::count_if(d.locks.begin(), d.locks.end(), [&](const probe::trace_lock& l) {
    return l.object == reinterpret_cast<std::uintptr_t>(object);
  }));
}

std::size_t finished_tasks(const probe::trace_data& d) {
  std::size_t n = 0;
  for (const auto& w : d.workers)
    n += static_cast<std::size_t>(std::count_if(w.begin(), w.end(), [](const auto& s) { return s.finished; }));
  return n;
}

std::uint64_t key_of(const probe::trace_data& d, probe::task_id id) {
  for (const auto& w : d.workers)
    for (const probe::trace_slice& s : w)
      if (s.id == id) return s.key;
  return probe::no_key;
}

TEST(LockTrace, EachHoldIsAttributedToItsTask) {
  runtime rt({.workers = 2});
  mutex named("lock trace"), other;
  recursive_mutex deep;
  rt.recorder().trace(true);
  constexpr std::uint64_t n = 20;
  rt.run([&] {
    task_group g;
    for (std::uint64_t i = 0; i < n; ++i)
      g.run(lock_task(i), [&] {
        {
          const std::lock_guard guard(named);
          this_thread::sleep_for(std::chrono::microseconds(100));
        }
        const std::unique_lock second(other, std::try_to_lock);
        const std::lock_guard once(deep), twice(deep);
      });
    g.wait();
  });
  const probe::trace_data d = trace_when(
      rt.recorder(), [&](const probe::trace_data& t) { return holds_of(t, &named) >= n && holds_of(t, &deep) >= n; });
  std::map<std::uint64_t, std::set<std::uint64_t>> keys;  // by object
  std::uint64_t waits = 0;
  for (const probe::trace_lock& l : d.locks) {
    EXPECT_LE(l.taken, l.released);
    const std::uint64_t key = key_of(d, l.task);
    EXPECT_LT(key, n);
    EXPECT_TRUE(keys[l.object].insert(key).second) << "each task takes each lock once";
    if (l.object == reinterpret_cast<std::uintptr_t>(&named)) {
      EXPECT_EQ(probe::name_of(l.name), "lock trace");
      EXPECT_GE(seconds(l.released - l.taken), 90e-6);
      waits += l.waits;
    }
  }
  EXPECT_EQ(keys[reinterpret_cast<std::uintptr_t>(&named)].size(), n);
  EXPECT_EQ(keys[reinterpret_cast<std::uintptr_t>(&deep)].size(), n);
  EXPECT_GT(waits, 0u) << "its holder sleeps, and the other tasks of its worker run";
}

TEST(LockTrace, NothingIsRecordedWithoutATrace) {
  runtime rt({.workers = 1});
  mutex m;
  rt.run([&] { const std::lock_guard guard(m); });
  rt.recorder().trace(true);
  rt.run(lock_task(1), [] {});
  EXPECT_TRUE(rt.recorder().collect_trace().locks.empty());
}

TEST(LockTrace, PlacementsAreRecordedOnce) {
  runtime rt({.workers = 2});
  rt.recorder().trace(true);
  rt.run([&] {
    task_info bound = lock_task(1), urgent = lock_task(2);
    bound.where.worker = 2;
    urgent.where.priority = priority::high;
    task_group g;
    g.run(bound, [] { this_thread::yield(); });
    g.run(urgent, [] {});
    g.run(lock_task(3), [] {});
    g.wait();
  });
  const probe::trace_data d =
      trace_when(rt.recorder(), [](const probe::trace_data& t) { return finished_tasks(t) >= 4; });
  std::size_t slices_of_bound = 0;
  for (const auto& w : d.workers)
    slices_of_bound +=
        static_cast<std::size_t>(std::count_if(w.begin(), w.end(), [](const auto& s) { return s.key == 1; }));
  EXPECT_EQ(slices_of_bound, 2u) << "it yields";
  ASSERT_EQ(d.placements.size(), 2u);
  for (const probe::trace_placement& p : d.placements) {
    const bool is_bound = key_of(d, p.task) == 1;
    EXPECT_EQ(p.worker, is_bound ? 2u : 0u);
    EXPECT_EQ(p.priority, is_bound ? 0u : 1u);
  }
}

}  // namespace
}  // namespace plx
