// Accounting of waits. Read the first test as the example.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/channel.hpp"
#include "rt/coroutine.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/patterns/sliding_semaphore.hpp"
#include "rt/runtime.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace plx {
namespace {

using std::chrono::milliseconds;

/// The waits of a kind, summed over objects.
probe::wait_statistics waits_for(runtime& rt, std::string_view kind, std::string_view name = "") {
  probe::wait_statistics sum;
  for (const auto& s : rt.recorder().waits()) {
    if (s.kind != kind || (!name.empty() && s.name != name)) continue;
    sum.waits += s.waits;
    sum.total_s += s.total_s;
    sum.max_s = std::max(sum.max_s, s.max_s);
  }
  return sum;
}

double value_of(runtime& rt, const std::string& counter) {
  const auto v = rt.counters().query(counter);
  EXPECT_TRUE(v && v->size() == 1) << counter;
  return v && !v->empty() ? v->front().value : -1.0;
}

/// Returns when `there` is true. Keeps its worker: the caller is not suspended.
template <class Condition>
void wait_until(Condition there) {
  const double deadline = monotonic_seconds() + 300;
  while (!there()) {
    if (monotonic_seconds() > deadline) {
      ADD_FAILURE() << "what was waited for did not come in five minutes";
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// Returns when `n` tasks have been suspended for 10 ms: their waits are accounted with at least that, up to the
/// worker's last reading of the clock.
void until_suspended(runtime& rt, int n) {
  wait_until([&] { return value_of(rt, "/scheduler/tasks/suspended") == n; });
  std::this_thread::sleep_for(milliseconds(10));
}

/// Sleeps until 20 ms of sleep are accounted: a task that is delayed before it is suspended sleeps less, or not at all.
void sleep_until_recorded(runtime& rt) {
  const double begin = monotonic_seconds();
  std::uint64_t sleeps = 0;
  while (waits_for(rt, "sleep").total_s < 0.02 && sleeps < 500) {
    this_thread::sleep_for(milliseconds(20));
    ++sleeps;
  }
  const auto s = waits_for(rt, "sleep");
  EXPECT_GE(s.total_s, 0.02);
  EXPECT_LE(s.total_s, monotonic_seconds() - begin + 0.001);
  EXPECT_GE(s.waits, 1u);
  EXPECT_LE(s.waits, sleeps);
}

TEST(Waits, ANamedMutexIsListedByItsName) {
  runtime rt({.workers = 2});
  mutex m("forces");
  rt.run([&] {
    std::unique_lock held(m);
    auto waiting = async([&] { std::lock_guard lock(m); });
    until_suspended(rt, 1);
    held.unlock();
    waiting.get();
  });
  const auto s = waits_for(rt, "mutex", "forces");
  EXPECT_EQ(s.waits, 1u);
  EXPECT_GE(s.total_s, 0.005);
  EXPECT_LE(s.total_s, 100.0);
  EXPECT_EQ(s.max_s, s.total_s);
}

TEST(Waits, AFreeMutexRecordsNothing) {
  runtime rt({.workers = 2});
  mutex m("free");
  rt.run([&] {
    for (int i = 0; i < 100; ++i) std::lock_guard lock(m);
  });
  EXPECT_EQ(waits_for(rt, "mutex").waits, 0u);
}

TEST(Waits, TwoMutexesAtOneAddressAreDistinguishedByTheirNames) {
  runtime rt({.workers = 2});
  std::optional<mutex> m;
  for (const char* name : {"first life", "second life"}) {
    m.emplace(name);
    rt.run([&] {
      std::unique_lock held(*m);
      auto waiting = async([&] { std::lock_guard lock(*m); });
      until_suspended(rt, 1);
      held.unlock();
      waiting.get();
    });
  }
  EXPECT_EQ(waits_for(rt, "mutex", "first life").waits, 1u);
  EXPECT_EQ(waits_for(rt, "mutex", "second life").waits, 1u);
}

TEST(Waits, FuturesSleepsAndGroupsAreRecordedByKind) {
  runtime rt({.workers = 3});
  rt.run([&] {
    sleep_until_recorded(rt);
    promise<void> done;
    std::atomic<bool> begun{false};
    auto parent = async([&] {
      task_group g;
      g.run([&, f = done.get_future()]() mutable {
        begun = true;
        f.get();
      });
      wait_until([&] { return begun.load(); });  // another worker has started it, so the caller must wait for the group
      g.wait();
    });
    until_suspended(rt, 2);
    done.set_value();
    parent.get();
  });
  EXPECT_GE(waits_for(rt, "future").waits, 1u);
  EXPECT_GE(waits_for(rt, "future").total_s, 0.005);
  EXPECT_EQ(waits_for(rt, "task_group").waits, 1u);
  EXPECT_GE(waits_for(rt, "task_group").total_s, 0.005);
}

TEST(Waits, AChannelIsAChannel) {
  runtime rt({.workers = 2});
  rt.run([&] {
    channel<int> c(channel<int>::one_element);
    auto receiver = async([&] {
      int sum = 0;
      for (int x : c) sum += x;
      return sum;
    });
    until_suspended(rt, 1);
    c.send(3);
    c.close();
    EXPECT_EQ(receiver.get(), 3);
  });
  EXPECT_GE(waits_for(rt, "channel").waits, 1u);
  EXPECT_EQ(waits_for(rt, "condition_variable").waits, 0u);
}

TEST(Waits, LatchesBarriersAndConditionVariablesAreListedByObject) {
  runtime rt({.workers = 2});
  latch all(1);
  probe::name_object(&all, "all loaded");
  rt.run([&] {
    auto waiting = async([&] { all.wait(); });
    until_suspended(rt, 1);
    all.count_down();
    waiting.get();

    mutex m;
    condition_variable changed("work arrives");
    bool there = false;
    auto waits = async([&] {
      std::unique_lock lock(m);
      changed.wait(lock, [&] { return there; });
    });
    until_suspended(rt, 1);
    {
      std::lock_guard lock(m);
      there = true;
    }
    changed.notify_one();
    waits.get();
  });
  EXPECT_EQ(waits_for(rt, "latch", "all loaded").waits, 1u);
  EXPECT_GE(waits_for(rt, "condition_variable", "work arrives").waits, 1u);
  probe::name_object(&all, "");
}

TEST(Waits, ACoroutineThatAwaitsIsRecordedToo) {
  runtime rt({.workers = 2});
  promise<void> done;
  std::atomic<bool> begun{false};
  auto one = rt.run([&] {
    return spawn([](future<void> f, std::atomic<bool>& here) -> task<void> {
      here = true;
      co_await std::move(f);
    }(done.get_future(), begun));
  });
  wait_until([&] { return begun.load(); });
  wait_until([&] { return value_of(rt, "/scheduler/tasks/active") == 0; });  // the task can proceed no further
  std::this_thread::sleep_for(milliseconds(10));
  done.set_value();
  one.get();  // this thread is not a task: its wait is not accounted
  EXPECT_EQ(waits_for(rt, "future").waits, 1u);
  EXPECT_GE(waits_for(rt, "future").total_s, 0.005);
}

TEST(Waits, ATaskThatYieldsDoesNotWait) {
  runtime rt({.workers = 1});
  rt.run([] {
    for (int i = 0; i < 100; ++i) this_thread::yield();
  });
  EXPECT_TRUE(rt.recorder().waits().empty());
}

TEST(Waits, CountersGiveTheTotalsByKind) {
  runtime rt({.workers = 2});
  mutex m("forces");
  rt.run([&] {
    std::unique_lock held(m);
    auto waiting = async([&] { std::lock_guard lock(m); });
    until_suspended(rt, 1);
    held.unlock();
    waiting.get();
    sleep_until_recorded(rt);
  });
  const auto value = [&](const std::string& name) { return value_of(rt, name); };
  EXPECT_EQ(value("/threads{locality#0/total}/wait/count/mutex"), 1.0);
  EXPECT_GE(value("/threads{locality#0/total}/wait/time/mutex"), 0.003);
  EXPECT_GE(value("/threads{locality#0/total}/wait/count/sleep"), 1.0);
  EXPECT_EQ(value("/threads{locality#0/total}/wait/count/barrier"), 0.0);
  EXPECT_EQ(value("/threads{locality#0/total}/wait/count"),
            value("/threads{locality#0/worker-thread#0}/wait/count") +
                value("/threads{locality#0/worker-thread#1}/wait/count"));
}

}  // namespace
}  // namespace plx
