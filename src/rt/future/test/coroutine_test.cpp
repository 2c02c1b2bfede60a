// Coroutines: results, exceptions, where they resume, and that no loop of them makes the stack grow.
#include "rt/coroutine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/event.hpp"
#include "rt/executor.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"

namespace {

using plx::testing::on_every_schedule;
using plx::testing::with_every_runtime;

plx::task<int> give(int x) { co_return x; }
plx::task<> nothing() { co_return; }
plx::task<int> fail(std::string why) {
  throw std::runtime_error(why);
  co_return 0;
}
plx::task<int> later(int x) {
  co_return co_await plx::async([x] { return x; });
}

template <class F>
std::string thrown_by(F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing";
}

// ------------------------------------------------------------------------------------------------------------ results

plx::task<int> add(int a, int b) { co_return co_await give(a) + co_await later(b); }

TEST(Task, GivesItsResultToTheAwaitingCoroutine) {
  on_every_schedule([] {
    EXPECT_EQ(plx::sync_wait(give(3)), 3);
    EXPECT_EQ(plx::sync_wait(add(1, 2)), 3);
    plx::sync_wait(nothing());
  });
}

struct only_movable {
  explicit only_movable(int x) : p(std::make_unique<int>(x)) {}
  std::unique_ptr<int> p;
};
plx::task<only_movable> movable() { co_return only_movable(5); }
plx::task<int&> reference_to(int& x) { co_return x; }

TEST(Task, ResultsMayBeOnlyMovableOrReferences) {
  EXPECT_EQ(*plx::sync_wait(movable()).p, 5);
  int x = 1;
  plx::sync_wait(reference_to(x)) = 2;
  EXPECT_EQ(x, 2);
}

plx::task<int> caught() {
  try {
    co_return co_await fail("inner");
  } catch (const std::runtime_error& e) {
    co_return static_cast<int>(std::string(e.what()).size());
  }
}

TEST(Task, ExceptionsReachTheAwaitingCoroutine) {
  on_every_schedule([] {
    EXPECT_EQ(plx::sync_wait(caught()), 5);
    EXPECT_EQ(thrown_by([] { plx::sync_wait(fail("outer")); }), "outer");
    auto f = plx::spawn(fail("spawned"));
    EXPECT_EQ(thrown_by([&] { f.get(); }), "spawned");
  });
}

plx::task<> holds(std::shared_ptr<int>, bool& began) {
  began = true;
  co_return;
}

TEST(Task, DestroyedBeforeItBeginsItNeverRuns) {
  auto held = std::make_shared<int>(1);
  bool began = false;
  {
    auto t = holds(held, began);
    EXPECT_EQ(held.use_count(), 2);
    auto moved = std::move(t);
    EXPECT_FALSE(t.valid());
    EXPECT_TRUE(moved.valid());
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(began);
}

TEST(Task, ItsFrameIsGoneWhenItsFutureIsReady) {
  on_every_schedule([] {
    auto held = std::make_shared<int>(1);
    bool began = false;
    auto f = plx::spawn(holds(held, began));
    f.wait();
    EXPECT_TRUE(began);
    EXPECT_EQ(held.use_count(), 1);
  });
}

TEST(TaskDeathTest, AwaitingWhatWasMovedFromIsCaught) {
  auto t = give(1);
  auto moved = std::move(t);
  EXPECT_DEATH(plx::sync_wait(std::move(t)), "moved-from");
  EXPECT_EQ(plx::sync_wait(std::move(moved)), 1);
}

// -------------------------------------------------------------------------------------------------------- long loops

plx::task<long> sum_of_ready(int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await give(1);
  co_return sum;
}
plx::task<long> sum_of_futures(int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) sum += co_await plx::async([] { return 1; });
  co_return sum;
}
plx::task<> yields(int n) {
  for (int i = 0; i < n; ++i) co_await plx::this_task::yield();
}
plx::task<long> deep(int n) {  // each level waits for the next
  if (n == 0) co_return 0;
  co_return 1 + co_await deep(n - 1);
}

constexpr int million = 1'000'000;

TEST(Coroutine, AMillionAwaitsDoNotGrowTheStack) {
  plx::runtime rt({.workers = 2, .bind = false});
  rt.run([] {
    EXPECT_EQ(plx::sync_wait(sum_of_ready(million)), million);
    EXPECT_EQ(plx::sync_wait(sum_of_futures(million)), million);
    plx::sync_wait(yields(million));
  });
  EXPECT_EQ(plx::sync_wait(sum_of_ready(million)), million) << "on an external thread";
}

TEST(Coroutine, AHundredThousandLevelsNeedNoStack) {
  plx::runtime rt({.workers = 2, .bind = false});
  rt.run([] { EXPECT_EQ(plx::sync_wait(deep(100'000)), 100'000); });
}

// ------------------------------------------------------------------------------------------------------------ futures

TEST(CoAwait, TakesWhatGetTakes) {
  on_every_schedule([] {
    plx::sync_wait([]() -> plx::task<> {
      auto f = plx::async([] { return 1; });
      EXPECT_EQ(co_await f, 1);
      EXPECT_FALSE(f.valid());
      auto ready = plx::make_ready_future(std::string("ready"));
      EXPECT_EQ(co_await std::move(ready), "ready");
      co_await plx::async([] {});
      const plx::shared_future<int> shared = plx::async([] { return 2; }).share();
      EXPECT_EQ(co_await shared, 2);
      EXPECT_EQ(&co_await shared, &shared.get());
      EXPECT_EQ(co_await plx::async([] { return 3; }).share(), 3);
      EXPECT_EQ(co_await plx::async(plx::launch::deferred, [] { return 4; }), 4);
      int x = 0;
      (co_await plx::async([&]() -> int& { return x; })) = 5;
      EXPECT_EQ(x, 5);
    }());
  });
}

TEST(CoAwait, ThrowsWhatGetThrows) {
  on_every_schedule([] {
    const auto awaiting = [](plx::future<int> f) -> plx::task<int> { co_return co_await f; };
    EXPECT_EQ(thrown_by([&] { plx::sync_wait(awaiting(plx::async([]() -> int { throw std::logic_error("no"); }))); }),
              "no");
    EXPECT_THROW(plx::sync_wait(awaiting({})), plx::future_error);
    plx::future<int> broken = plx::promise<int>().get_future();
    EXPECT_THROW(plx::sync_wait(awaiting(std::move(broken))), plx::future_error);
  });
}

TEST(CoAwait, HoldsNoFiberWhileItWaits) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    plx::promise<void> go;
    const plx::shared_future<void> gate = go.get_future().share();
    std::vector<plx::future<int>> all;
    for (int i = 0; i < 10'000; ++i)
      all.push_back(plx::spawn([](plx::shared_future<void> g, int x) -> plx::task<int> {
        co_await g;
        co_return x;
      }(gate, i)));
    plx::this_thread::yield();
    go.set_value();
    long sum = 0;
    for (auto& f : all) sum += f.get();
    EXPECT_EQ(sum, 10'000L * 9'999 / 2);
  });
  EXPECT_LT(rt.counters().query("/scheduler{locality#0/total}/stacks/made").value().at(0).value, 100);
}

plx::future<int> eager(plx::future<int> f, int& stage) {
  stage = 1;
  const int x = co_await f;
  stage = 2;
  co_return x + 1;
}
plx::future<void> eager_failure() {
  throw std::runtime_error("eager");
  co_return;
}
plx::future<int&> eager_reference(int& x) {
  co_await plx::async([] {});
  co_return x;
}

TEST(FutureCoroutine, BeginsAtOnceAndGivesAFuture) {
  on_every_schedule([] {
    plx::promise<int> p;
    int stage = 0;
    auto f = eager(p.get_future(), stage);
    EXPECT_EQ(stage, 1);
    EXPECT_FALSE(f.is_ready());
    p.set_value(4);
    EXPECT_EQ(f.get(), 5);
    EXPECT_EQ(stage, 2);
    auto failed = eager_failure();
    EXPECT_TRUE(failed.is_ready());
    EXPECT_EQ(thrown_by([&] { failed.get(); }), "eager");
    int x = 0;
    EXPECT_EQ(&eager_reference(x).get(), &x);
  });
}

plx::future<void> holds_until_ready(std::shared_ptr<int>, plx::future<void> f) { co_await f; }

TEST(FutureCoroutine, ItsArgumentsAreGoneWhenItsFutureIsReady) {
  on_every_schedule([] {
    auto held = std::make_shared<int>(1);
    auto f = holds_until_ready(held, plx::async([] {}));
    f.wait();
    EXPECT_EQ(held.use_count(), 1);
  });
}

TEST(FutureCoroutine, WorksWithThenAndWhenAll) {
  on_every_schedule([] {
    int a = 0, b = 0;
    auto both = plx::when_all(eager(plx::async([] { return 1; }), a), eager(plx::async([] { return 2; }), b));
    auto sum = both.then([](auto f) {
      auto [x, y] = f.get();
      return x.get() + y.get();
    });
    EXPECT_EQ(sum.get(), 5);
  });
}

// ------------------------------------------------------------------------------------------------------- when_all

plx::task<long> fib(int n) {
  if (n < 2) co_return n;
  auto [a, b] = co_await plx::when_all(fib(n - 1), fib(n - 2));
  co_return a + b;
}

TEST(WhenAllTasks, Fibonacci) {
  on_every_schedule([] { EXPECT_EQ(plx::sync_wait(fib(10)), 55); });
}

TEST(WhenAllTasks, GivesATupleOrAVector) {
  on_every_schedule([] {
    plx::sync_wait([]() -> plx::task<> {
      int x = 0;
      auto [a, b, c, d] = co_await plx::when_all(give(1), later(2), nothing(), reference_to(x));
      EXPECT_EQ(a + b, 3);
      EXPECT_EQ(c, plx::no_value());
      EXPECT_EQ(&d, &x);
      co_await plx::when_all(nothing(), nothing());
      std::vector<plx::task<int>> many;
      for (int i = 0; i < 20; ++i) many.push_back(i % 2 == 0 ? give(i) : later(i));
      const auto results = co_await plx::when_all(std::move(many));
      EXPECT_EQ(std::accumulate(results.begin(), results.end(), 0), 190);
      EXPECT_TRUE((co_await plx::when_all(std::vector<plx::task<int>>())).empty());
      std::vector<plx::task<>> voids;
      voids.push_back(nothing());
      co_await plx::when_all(std::move(voids));
    }());
  });
}

TEST(WhenAllTasks, TheFirstExceptionInOrderIsThrownAfterAllHaveEnded) {
  on_every_schedule([] {
    int ended = 0;
    const auto counts = [](std::atomic_ref<int> n) -> plx::task<int> {
      co_await plx::async([] {});
      ++n;
      co_return 0;
    };
    const auto all = [&]() -> plx::task<> {
      co_await plx::when_all(counts(std::atomic_ref(ended)), fail("second"), fail("third"),
                             counts(std::atomic_ref(ended)));
    };
    EXPECT_EQ(thrown_by([&] { plx::sync_wait(all()); }), "second");
    EXPECT_EQ(ended, 2);
  });
}

// ------------------------------------------------------------------------------------------------- places and pauses

TEST(SyncWait, OnAnExternalThreadOfEveryRuntime) {
  for (unsigned workers : {1u, 2u, 4u}) {
    plx::runtime rt({.workers = workers, .bind = false});
    EXPECT_EQ(plx::sync_wait(add(1, 2)), 3);
    EXPECT_EQ(plx::sync_wait(fib(12)), 144);
  }
}

TEST(Pause, SleepsInVirtualTime) {
  plx::runtime rt({.workers = 3, .deterministic = true, .seed = 7});
  rt.run([] {
    plx::sync_wait([]() -> plx::task<> {
      co_await plx::this_task::sleep_for(std::chrono::hours(1));
      co_await plx::this_task::sleep_for(std::chrono::hours(-1));
    }());
  });
}

TEST(Pause, SleepsForAWhileAndHoldsNoWorker) {
  plx::runtime rt({.workers = 1, .bind = false});
  const auto begin = std::chrono::steady_clock::now();
  int asleep = 0, most_asleep = 0;  // on the only worker
  const auto nap = [&]() -> plx::task<> {
    most_asleep = std::max(most_asleep, ++asleep);
    co_await plx::this_task::sleep_for(std::chrono::milliseconds(20));
    --asleep;
  };
  // Naps that held the worker would not overlap. On a busy machine one nap may end before the next one begins.
  EXPECT_TRUE(plx::comes_true([&] {
    rt.run([&] {
      std::vector<plx::future<void>> all;
      for (int i = 0; i < 100; ++i) all.push_back(plx::spawn(nap()));
      for (auto& f : all) f.get();
    });
    return most_asleep > 1;
  }));
  plx::sync_wait(nap());  // the calling thread sleeps
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(40));
}

plx::task<> named_work() {
  co_await plx::async([] {});
  co_await plx::this_task::yield();
}

TEST(Measurement, ASpawnedCoroutineHasItsNameAndKeyInAllItsParts) {
  plx::runtime rt({.workers = 1, .bind = false});
  const auto mine = plx::probe::register_name("mine");
  rt.run([&] {
    plx::spawn(named_work()).get();
    auto f = plx::spawn(plx::task_info(mine, 42), named_work());
    plx::this_thread::yield();  // the loop runs it, not get()
    f.get();
  });
  std::uint64_t calls = 0, calls_of_mine = 0, parts_of_mine = 0;
  for (const auto& s : rt.recorder().tasks()) {
    if (s.name.ends_with("named_work()")) calls = s.calls;
    if (s.id == mine) calls_of_mine = s.calls, parts_of_mine = s.slices;
  }
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(calls_of_mine, 1u);
  EXPECT_EQ(parts_of_mine, 3u);
}

// ------------------------------------------------------------------------------------------------------- executors

TEST(Schedule, TheCoroutineContinuesInTheExecutorsRuntimeAndStays) {
  plx::runtime a({.workers = 1, .bind = false}), b({.workers = 2, .bind = false});
  const auto in_a = a.get_executor(), in_b = b.get_executor();
  const auto travels = [&]() -> plx::task<int> {
    EXPECT_EQ(plx::default_executor(), in_a);
    co_await plx::schedule(in_b);
    EXPECT_EQ(plx::default_executor(), in_b);
    const int x = co_await plx::async(in_a, [] { return 1; });
    EXPECT_EQ(plx::default_executor(), in_b);
    co_await plx::schedule(in_b.with_affinity(1));
    EXPECT_EQ(plx::worker_index(), 1u);
    co_await plx::this_task::yield();
    EXPECT_EQ(plx::worker_index(), 1u);
    co_await plx::schedule(in_a);
    EXPECT_EQ(plx::default_executor(), in_a);
    co_return x;
  };
  a.run([&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(plx::sync_wait(travels()), 1);
  });
  EXPECT_EQ(plx::spawn(in_a.with_name("traveller"), travels()).get(), 1);
}

TEST(Schedule, OnLimitsAndInline) {
  on_every_schedule([] {
    const plx::strand s;
    int in_strand = 0;
    const auto adds = [&](int n) -> plx::task<> {
      for (int i = 0; i < n; ++i) {
        co_await plx::schedule(s);
        ++in_strand;
        co_await plx::schedule(plx::sequenced_executor());
        co_await plx::schedule(plx::default_executor());
      }
    };
    plx::sync_wait([&]() -> plx::task<> { co_await plx::when_all(adds(10), adds(10), adds(10)); }());
    EXPECT_EQ(in_strand, 30);
    EXPECT_EQ(plx::spawn(s, give(4)).get(), 4);
  });
}

TEST(Schedule, IsASender) {
  on_every_schedule([] {
    struct receiver {
      plx::promise<plx::executor>* p;
      void set_value() && noexcept { p->set_value(plx::default_executor()); }
    };
    plx::promise<plx::executor> p;
    auto op = plx::schedule(plx::default_executor()).connect(receiver{&p});
    op.start();
    EXPECT_EQ(p.get_future().get(), plx::default_executor());
  });
}

// ------------------------------------------------------------------------------------- coroutines of other libraries

struct fire_and_forget {
  struct promise_type {
    fire_and_forget get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }
  };
};

fire_and_forget external(plx::promise<long> result, int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += co_await give(1);
    sum += co_await later(1);
    sum += co_await plx::async([] { return 1; });
    sum += co_await plx::make_ready_future(1);
  }
  result.set_value(sum);
}

TEST(ForeignCoroutine, MayAwaitOurTasksAndFutures) {
  on_every_schedule([] {
    plx::promise<long> p;
    auto f = p.get_future();
    external(std::move(p), 20);
    EXPECT_EQ(f.get(), 80);
  });
}

/// The sum of 0 to 3, computed by children whose frames hold `size` additional bytes.
template <std::size_t size>
long sum_of_children() {
  std::atomic<long> sum{0};
  std::array<std::byte, size> ballast{};
  plx::task_group group;
  for (int i = 0; i < 4; ++i) group.run([&sum, i, ballast] { sum += i + std::to_integer<int>(ballast[0]); });
  group.wait();
  return sum;
}

fire_and_forget external_with_children(plx::promise<long> result) {
  long sum = 0;
  for (int i = 0; i < 3; ++i) sum += co_await later(0) + sum_of_children<100>();
  result.set_value(sum);
}

// The chain of the wait has been freed by then, and a child may reuse its memory.
TEST(ForeignCoroutine, MayHaveChildrenAfterwards) {
  on_every_schedule([] {
    plx::promise<long> p;
    auto f = p.get_future();
    external_with_children(std::move(p));
    EXPECT_EQ(f.get(), 18);
  });
}

plx::future<int> future_coroutine() { co_return co_await later(1); }

// The frame of a coroutine is freed before the continuation attached to its future runs in its place.
TEST(FutureCoroutine, ASuccessorInItsPlaceMayHaveChildren) {
  on_every_schedule([] {
    auto f = future_coroutine().then(plx::launch::sync, [](auto one) { return one.get() + sum_of_children<200>(); });
    EXPECT_EQ(f.get(), 7);
  });
}

TEST(ForeignCoroutine, ManyAwaitsDoNotGrowTheStack) {
  plx::runtime rt({.workers = 2, .bind = false});
  rt.run([] {
    plx::promise<long> p;
    auto f = p.get_future();
    external(std::move(p), 50'000);
    EXPECT_EQ(f.get(), 200'000);
  });
}

}  // namespace
