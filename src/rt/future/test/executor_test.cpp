// Executors: where tasks run, how many at once, in which order; user-defined executors; several runtimes.
#include "rt/executor.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "probe/record/recorder.hpp"
#include "rt/dataflow.hpp"
#include "rt/latch.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;
using plx::testing::with_every_runtime;

/// A user-defined executor: a thread with a queue.
class thread_executor {
 public:
  struct queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<plx::work> waiting;
    bool ends = false;
    std::thread thread{[this] { loop(); }};
    void loop() {
      for (std::unique_lock lock(mutex);;) {
        changed.wait(lock, [this] { return ends || !waiting.empty(); });
        if (waiting.empty()) return;
        const plx::work w = waiting.front();
        waiting.pop_front();
        lock.unlock();
        w();
        lock.lock();
      }
    }
    ~queue() {
      {
        std::scoped_lock lock(mutex);
        ends = true;
      }
      changed.notify_all();
      thread.join();
    }
  };
  explicit thread_executor(queue& q) : queue_(&q) {}
  void post(plx::work w) const {
    std::scoped_lock lock(queue_->mutex);
    queue_->waiting.push_back(w);
    queue_->changed.notify_all();
  }
  friend bool operator==(const thread_executor&, const thread_executor&) = default;

 private:
  queue* queue_;
};
static_assert(plx::any_executor<thread_executor>);
static_assert(plx::any_executor<plx::executor> && plx::any_executor<plx::limiting_executor> &&
              plx::any_executor<plx::strand> && plx::any_executor<plx::sequenced_executor>);

// ------------------------------------------------------------------------------------------------------------ handles

TEST(Executor, AsyncPostAndThen) {
  with_every_runtime([](plx::runtime& rt) {
    const plx::executor ex = rt.get_executor();
    rt.run([&] {
      EXPECT_EQ(ex, plx::default_executor());
      EXPECT_EQ(plx::async(
                    ex, [](int a, int b) { return a + b; }, 1, 2)
                    .get(),
                3);
      EXPECT_EQ(plx::async([] { return 1; }).then(ex, [](auto f) { return f.get() + 1; }).get(), 2);
      EXPECT_EQ(plx::async([] { return 1; }).share().then(ex, [](auto f) { return f.get() + 1; }).get(), 2);
      EXPECT_EQ(plx::dataflow(
                    ex, [](auto a, int b) { return a.get() + b; }, plx::async([] { return 1; }), 2)
                    .get(),
                3);
      auto same = ex;  // not const
      EXPECT_EQ(plx::dataflow(
                    same, [](int a) { return a; }, 2)
                    .get(),
                2);
      EXPECT_EQ(plx::async(same, [] { return 2; }).get(), 2);
      plx::latch done(2);
      plx::post(ex, [&] { done.count_down(); });
      ex.post([&] { done.count_down(); });
      done.wait();
      auto failed = plx::async(ex, []() -> int { throw std::runtime_error("no"); });
      EXPECT_THROW(failed.get(), std::runtime_error);
    });
  });
}

TEST(Executor, EqualWhenAllTheySayIsEqual) {
  plx::runtime a({.workers = 1, .bind = false}), b({.workers = 2, .bind = false});
  const auto ex = a.get_executor();
  EXPECT_EQ(ex, a.get_executor());
  EXPECT_NE(ex, b.get_executor());
  EXPECT_NE(ex, ex.with_priority(plx::priority::high));
  EXPECT_NE(ex, ex.with_stack_size(1 << 20));
  EXPECT_NE(b.get_executor().with_affinity(0), b.get_executor().with_affinity(1));
  EXPECT_NE(ex, ex.with_name("x"));
  EXPECT_NE(ex, ex.with_key(1));
  EXPECT_EQ(ex.with_name("x").with_key(1), ex.with_key(1).with_name("x"));
  EXPECT_EQ(b.get_executor().worker_count(), 2u);
}

TEST(Executor, UrgentTasksGoFirstAndLowOnesLast) {
  plx::runtime rt({.workers = 1, .bind = false});
  const auto ex = rt.get_executor();
  std::string order;
  rt.run([&] {
    std::vector<plx::future<void>> all;
    all.push_back(plx::async(ex.with_priority(plx::priority::low), [&] { order += 'l'; }));
    all.push_back(plx::async(ex, [&] { order += 'n'; }));
    all.push_back(plx::async(ex.with_priority(plx::priority::high), [&] { order += 'h'; }));
    for (auto& f : all) f.wait();
  });
  EXPECT_EQ(order, "hnl");
}

TEST(Executor, PinnedTasksStayOnTheirWorker) {
  plx::runtime rt({.workers = 3, .bind = false});
  rt.run([&] {
    std::vector<plx::future<bool>> all;
    for (unsigned i = 0; i < 30; ++i)
      all.push_back(plx::async(plx::default_executor().with_affinity(i % 3), [i] {
        const auto before = plx::worker_index();
        plx::this_thread::yield();
        return before == i % 3 && plx::worker_index() == i % 3;
      }));
    for (auto& f : all) EXPECT_TRUE(f.get());
  });
}

// Uses about n KiB of stack: for large n more than a default stack has.
[[gnu::noinline]] int deep(int n) {
  volatile char here[1024];
  here[n % 1024] = static_cast<char>(n);
  return n == 0 ? here[0] : deep(n - 1) + (here[n % 1024] != 0 ? 1 : 0);
}

TEST(Executor, TasksMayHaveALargerStack) {
  plx::runtime rt({.workers = 2, .bind = false, .stack_bytes = 64 << 10});
  const auto large = rt.get_executor().with_stack_size(4 << 20);
  EXPECT_GT(rt.run([&] { return plx::async(large, deep, 1000).get(); }), 900);
}

TEST(Executor, NameAndKeyAreMeasured) {
  plx::runtime rt({.workers = 1, .bind = false});
  const auto ex = rt.get_executor().with_name("executor_test work").with_key(7);
  rt.run([&] {
    plx::async(ex, [] {}).get();
    plx::async([] {}).then(ex, [](auto) {}).get();
    plx::task_group group;
    group.run(ex, [] {});
    group.wait();
  });
  std::uint64_t calls = 0;
  for (const auto& t : rt.recorder().tasks())
    if (t.name == "executor_test work") calls = t.calls;
  EXPECT_EQ(calls, 3u);
}

TEST(ExecutorDeathTest, OfARuntimeThatHasEndedIsCaught) {
  plx::runtime other({.workers = 1, .bind = false});
  auto ex = other.get_executor();
  {
    plx::runtime rt({.workers = 1, .bind = false});
    ex = rt.get_executor();
  }
  EXPECT_DEATH((void)plx::async(ex, [] {}), "the runtime of this executor has ended");
}

// ------------------------------------------------------------------------------------------------------------- limits

TEST(LimitingExecutor, NoMoreThanItsUnitsRunAtOnce) {
  on_every_schedule([] {
    constexpr int limit = 2;
    const plx::limiting_executor few(plx::default_executor(), limit);
    std::atomic<int> running{0}, most{0}, calls{0};
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(plx::async(few, [&] {
        const int now = ++running;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        plx::this_thread::yield();  // it keeps its units while it waits
        --running;
        ++calls;
      }));
    for (auto& f : all) f.get();
    EXPECT_EQ(calls, 20);
    EXPECT_LE(most, limit);
    EXPECT_GE(most, 1);
  });
}

TEST(LimitingExecutor, LeavesOtherTasksTheirWorkers) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    const plx::limiting_executor one(plx::default_executor(), 1);
    plx::latch gate(1);
    auto first = plx::async(one, [&] { gate.wait(); });
    std::vector<plx::future<void>> queued;
    for (int i = 0; i < 100; ++i) queued.push_back(plx::async(one, [] {}));
    plx::async([] {}).get();  // the only worker is free for it
    EXPECT_FALSE(queued[0].is_ready());
    gate.count_down();
    for (auto& f : queued) f.get();
  });
}

// A class template: there Clang 16 treats the assignment of a braced list differently (see detail::counted_ptr).
template <class Other>
struct limit_member {
  plx::detail::limit_ref held;
  Other other{};
  void renew(const plx::executor& ex) { held = {ex, 1}; }
};

TEST(LimitingExecutor, AnAssignmentReleasesTheOldLimit) {
  plx::runtime rt({.workers = 1, .bind = false});
  const plx::executor ex = rt.get_executor();
  const plx::detail::limit_ref first(ex, 1);
  limit_member<int> a{first};
  a.renew(ex);  // LeakSanitizer reports a limit that is not released; without sanitizers it is only a leak
  EXPECT_NE(a.held.get(), first.get());
  a.held = first;
  EXPECT_EQ(a.held.get(), first.get());
  a.held = *&a.held;
  EXPECT_EQ(a.held.get(), first.get());
  plx::limiting_executor one(ex, 1);
  const plx::limiting_executor other(ex, 1);
  EXPECT_NE(one, other);
  one = other;
  EXPECT_EQ(one, other);
  EXPECT_EQ(plx::async(one, [] { return 1; }).get(), 1);
}

TEST(LimitingExecutor, CountsUnits) {
  on_every_schedule([] {
    const plx::limiting_executor memory(plx::default_executor(), 100);
    EXPECT_NE(memory, memory.with_units(60));
    EXPECT_EQ(memory.with_units(60), memory.with_units(60));
    std::atomic<int> used{0}, most{0};
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 30; ++i) {
      const int units = 10 + 10 * (i % 9);
      all.push_back(plx::async(memory.with_units(static_cast<std::size_t>(units)), [&, units] {
        const int now = used += units;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        plx::this_thread::yield();
        used -= units;
      }));
    }
    for (auto& f : all) f.get();
    EXPECT_LE(most, 100);
  });
}

TEST(LimitingExecutorDeathTest, MoreThanTheWholeIsCaught) {
  plx::runtime rt({.workers = 1, .bind = false});
  const plx::limiting_executor few(rt.get_executor(), 4);
  EXPECT_DEATH((void)few.with_units(5), "would never run");
}

TEST(Strand, OneAfterAnotherInOrder) {
  on_every_schedule([] {
    const plx::strand s;
    std::vector<int> order;  // no lock: that is what the strand is for
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 30; ++i)
      all.push_back(plx::async(s, [&order, i] {
        const auto size = order.size();
        if (i % 3 == 0) plx::this_thread::yield();
        EXPECT_EQ(order.size(), size);
        order.push_back(i);
      }));
    for (auto& f : all) f.get();
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(order.size(), 30u);
  });
}

TEST(Strand, ThenAndManySubmitters) {
  on_every_schedule([] {
    const plx::strand s;
    int sum = 0;
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 20; ++i) all.push_back(plx::async([] {}).then(s, [&](auto) { ++sum; }));
    for (auto& f : all) f.get();
    EXPECT_EQ(sum, 20);
  });
}

TEST(SequencedExecutor, CallsInTheCallersFrame) {
  plx::runtime rt({.workers = 1, .bind = false});
  const auto me = std::this_thread::get_id();
  auto f = plx::async(plx::sequenced_executor(), [] { return std::this_thread::get_id(); });
  EXPECT_TRUE(f.is_ready());
  EXPECT_EQ(f.get(), me);
}

// -------------------------------------------------------------------------------------- groups, user-defined executors

TEST(TaskGroup, ChildrenOnAnExecutor) {
  on_every_schedule([] {
    const auto ex = plx::default_executor();
    const plx::limiting_executor few(ex, 1);
    std::atomic<int> calls{0};
    plx::task_group group;
    group.run(ex.with_priority(plx::priority::high), [&] { ++calls; });
    group.run(few, [&] { ++calls; });
    group.run(plx::sequenced_executor(), [&] { ++calls; });
    EXPECT_GE(calls, 1);
    group.run([&] { ++calls; });
    group.wait();
    EXPECT_EQ(calls, 4);
    group.run(ex.with_priority(plx::priority::low), [] { throw std::runtime_error("child"); });
    EXPECT_THROW(group.wait(), std::runtime_error);
  });
}

TEST(UsersExecutor, WorksInAsyncThenAndGroup) {
  for (unsigned workers : {1u, 2u}) {
    plx::runtime rt({.workers = workers, .bind = false});
    thread_executor::queue q;
    const auto id = q.thread.get_id();
    rt.run([&] {
      const thread_executor ex(q);
      EXPECT_EQ(ex, thread_executor(q));
      EXPECT_EQ(plx::async(ex, [] { return std::this_thread::get_id(); }).get(), id);
      EXPECT_EQ(plx::async([] {}).then(ex, [](auto) { return std::this_thread::get_id(); }).get(), id);
      std::thread::id there;
      plx::task_group group;
      group.run(ex, [&] { there = std::this_thread::get_id(); });
      group.wait();
      EXPECT_EQ(there, id);
    });
  }
}

// --------------------------------------------------------------------------------------------------- several runtimes

TEST(TwoRuntimes, ATaskOfOneWaitsForATaskOfTheOther) {
  plx::runtime a({.workers = 1, .bind = false}), b({.workers = 2, .bind = false});
  const auto in_b = b.get_executor();
  a.run([&] {
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(plx::async(in_b, [] { return plx::default_executor(); }).get(), in_b);
      EXPECT_EQ(plx::default_executor(), a.get_executor());
    }
  });
}

TEST(TwoRuntimes, ContinuationsRunWhereTheyWereAttached) {
  plx::runtime a({.workers = 1, .bind = false}), b({.workers = 1, .bind = false});
  const auto in_a = a.get_executor(), in_b = b.get_executor();
  const auto here = [](auto&&...) { return plx::default_executor(); };
  a.run([&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(plx::async(in_b, [] { plx::this_thread::yield(); }).then(here).get(), in_a);
      EXPECT_EQ(plx::async([] {}).then(in_b, here).get(), in_b);
      EXPECT_EQ(plx::dataflow(here, plx::async(in_b, [] {})).get(), in_a);
      EXPECT_EQ(plx::dataflow(in_b, here, plx::async([] {})).get(), in_b);
    }
  });
}

TEST(TwoRuntimes, OneMayEndAsSoonAsItsTasksHave) {
  plx::runtime a({.workers = 1, .bind = false});
  for (int i = 0; i < 200; ++i) {
    plx::promise<void> p;
    plx::shared_future<void> f = p.get_future().share();
    plx::runtime b({.workers = 1, .bind = false});
    b.post([f] { f.wait(); });
    a.post([p = std::move(p)]() mutable { p.set_value(); });  // resumes the task in b, which may then end
  }
}

TEST(TwoRuntimes, AContinuationOutlivesTheRuntimeThatAttachedIt) {
  plx::runtime a({.workers = 1, .bind = false});
  plx::promise<int> p;
  plx::future<int> f;
  {
    plx::runtime b({.workers = 1, .bind = false});
    b.run([&] { f = p.get_future().then([](auto x) { return x.get() + 1; }); });
  }
  p.set_value(1);
  EXPECT_EQ(f.get(), 2);
}

}  // namespace
