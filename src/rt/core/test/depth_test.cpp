// Long chains of tasks that wait for each other, of continuations and of coroutines. The stack size must not limit any
// of them.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "rt/core/scheduler.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/coroutine.hpp"
#include "rt/dataflow.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/when.hpp"

namespace {

// The sanitizers' frames are several times as large, and their stacks and calls slower. ThreadSanitizer records at most
// 65,536 nested calls of a thread, and a link is several calls.
#if defined(PLX_TSAN)
constexpr long nested = 5'000, links = 5'000;
#elif defined(PLX_ASAN)
constexpr long nested = 5'000, links = 20'000;
#else
constexpr long nested = 100'000, links = 1'000'000;
#endif

template <class Body>
void on_one_and_four_workers(Body body) {
  for (unsigned workers : {1u, 4u}) {
    SCOPED_TRACE("workers " + std::to_string(workers));
    plx::runtime rt({.workers = workers, .bind = false});
    rt.run(body);
  }
  plx::runtime rt({.workers = 3, .deterministic = true, .seed = 7});
  rt.run(body);
}

// -------------------------------------------------------------------------------------------- tasks that wait for
// tasks

long by_get(long n) {
  return n == 0 ? 0 : plx::async([n] { return by_get(n - 1); }).get() + 1;
}

long by_group(long n) {
  if (n == 0) return 0;
  long below = 0;
  plx::task_group g;
  g.run([&below, n] { below = by_group(n - 1); });
  g.wait();
  return below + 1;
}

long by_named_group(long n) {
  if (n == 0) return 0;
  long below = 0;
  plx::task_group g;
  g.run({plx::probe::register_name("nested"), static_cast<std::uint64_t>(n)},
        [&below, n] { below = by_named_group(n - 1); });
  g.wait();
  return below + 1;
}

long by_deferred(long n) {
  return n == 0 ? 0 : plx::async(plx::launch::deferred, [n] { return by_deferred(n - 1); }).get() + 1;
}

TEST(depth, futures_that_wait_for_futures) {
  on_one_and_four_workers([] { EXPECT_EQ(by_get(nested), nested); });
}

TEST(depth, groups_that_wait_for_groups) {
  on_one_and_four_workers([] {
    EXPECT_EQ(by_group(nested), nested);
    EXPECT_EQ(by_named_group(nested / 10), nested / 10);
  });
}

TEST(depth, deferred_calls_that_wait_for_deferred_calls) {
  on_one_and_four_workers([] { EXPECT_EQ(by_deferred(nested), nested); });
  plx::runtime rt({.workers = 1, .bind = false});
  EXPECT_EQ(by_deferred(nested), nested);  // on a thread with its own stack size
}

// A task that runs in its waiter's frame has at least a quarter of a stack.
TEST(depth, a_task_in_its_waiters_frame_has_a_quarter_of_the_stack) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    std::size_t least = ~std::size_t{0};
    struct walk {
      static void down(int n, std::size_t& least) {
        const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        const plx::detail::stack& s = plx::detail::this_worker()->current->memory;
        least = std::min(least, here - reinterpret_cast<std::uintptr_t>(s.bottom));
        if (n > 0) plx::async([n, &least] { down(n - 1, least); }).get();
      }
    };
    walk::down(2000, least);
    EXPECT_GT(least,
              std::size_t{48}
                  << 10);  // the frames between the check and this function take some, more so in a sanitizer build
    EXPECT_LT(least, (std::size_t{256} << 10) / 2);  // stacks are used beyond half
  });
}

// ---------------------------------------------------------------------------------------------------------
// continuations

plx::future<long> step(long n) {
  if (n == 0) return plx::make_ready_future(0L);
  return plx::async([n] { return step(n - 1); });
}

TEST(depth, an_asynchronous_loop) {
  on_one_and_four_workers([] { EXPECT_EQ(step(links).get(), 0); });
}

TEST(depth, an_asynchronous_loop_that_fails) {
  struct loop {
    static plx::future<long> step(long n) {
      if (n == 0) throw std::runtime_error("the end");
      return plx::async([n] { return step(n - 1); });
    }
  };
  on_one_and_four_workers([] { EXPECT_THROW(loop::step(links / 10).get(), std::runtime_error); });
}

plx::future<long> chain_of_then(plx::future<long> f, long n) {
  for (long i = 0; i < n; ++i) f = f.then(plx::launch::sync, [](plx::future<long> g) { return g.get() + 1; });
  return f;
}

plx::future<long> chain_of_dataflow(plx::future<long> f, long n) {
  for (long i = 0; i < n; ++i)
    f = plx::dataflow(
        plx::launch::sync, [](plx::future<long> g) { return g.get() + 1; }, std::move(f));
  return f;
}

TEST(depth, synchronous_continuations) {
  on_one_and_four_workers([] {
    plx::promise<long> p, q;
    plx::future<long> f = chain_of_then(p.get_future(), links), g = chain_of_dataflow(q.get_future(), links);
    p.set_value(0);
    q.set_value(0);
    EXPECT_EQ(f.get(), links);
    EXPECT_EQ(g.get(), links);
  });
}

TEST(depth, synchronous_continuations_that_a_thread_fires) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::promise<long> p, q;
  plx::future<long> f = chain_of_then(p.get_future(), links), g = chain_of_dataflow(q.get_future(), links);
  p.set_value(0);
  std::thread([&] { q.set_value(0); }).join();
  EXPECT_EQ(f.get(), links);
  EXPECT_EQ(g.get(), links);
}

TEST(depth, long_chains_that_are_never_read) {
  on_one_and_four_workers([] {
    plx::promise<long> p;
    (void)chain_of_then(p.get_future(), links);
    (void)chain_of_dataflow(step(links), 10);
    p.set_value(0);
  });
}

// A continuation that fires deep in a chain may complete another state and wait for that state's continuations.
TEST(depth, a_continuation_deep_in_a_chain_that_waits_for_another_continuation) {
  on_one_and_four_workers([] {
    plx::promise<long> first;
    plx::future<long> f = first.get_future();
    for (int i = 0; i < 20; ++i) {
      f = chain_of_then(std::move(f), 100);
      f = f.then(plx::launch::sync, [](plx::future<long> g) {
        plx::promise<long> p;
        plx::future<long> other = chain_of_then(p.get_future(), 3000);
        p.set_value(g.get());
        return other.get() - 3000;
      });
    }
    first.set_value(0);
    EXPECT_EQ(f.get(), 2000);
  });
}

// ------------------------------------------------------------------------------------------------------------
// coroutines

plx::future<long> coroutine_down(long n) {
  if (n == 0) co_return 0;
  co_return co_await coroutine_down(n - 1) + 1;
}

plx::task<long> waits_for_a_coroutine(long n) {
  co_return n == 0 ? 0 : plx::sync_wait(waits_for_a_coroutine(n - 1)) + 1;
}

TEST(depth, coroutines_that_begin_and_wait_in_their_callers_frame) {
  on_one_and_four_workers([] {
    EXPECT_EQ(coroutine_down(nested).get(), nested);
    EXPECT_EQ(plx::sync_wait(waits_for_a_coroutine(nested)), nested);
  });
}

}  // namespace
