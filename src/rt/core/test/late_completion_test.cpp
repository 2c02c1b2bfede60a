// Continuations and coroutines whose input is completed after their runtime has ended, by a thread without a runtime:
// they run in the frame that completes it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "rt/coroutine.hpp"
#include "rt/dataflow.hpp"
#include "rt/executor.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"

namespace {

using namespace std::chrono_literals;

/// The result of `attach(future)` in a task of a runtime that has ended when the future is completed with 1.
template <class Attach>
int completed_after_the_end(Attach attach) {
  plx::promise<int> p;
  plx::future<int> result;
  {
    plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.01});
    rt.run([&] { result = attach(p.get_future()); });
  }
  std::thread([&p] { p.set_value(1); }).join();
  return result.get();
}

int increment(plx::future<int> f) { return f.get() + 1; }

TEST(late_completion, continuations_run_where_the_future_is_completed) {
  EXPECT_EQ(completed_after_the_end([](auto f) { return f.then(increment); }), 2);
  EXPECT_EQ(completed_after_the_end([](auto f) { return f.then(increment).then(increment).then(increment); }), 4);
  EXPECT_EQ(completed_after_the_end([](auto f) { return f.then(plx::executor(), increment); }), 2);
  EXPECT_EQ(completed_after_the_end([](auto f) {
              return f.then(plx::executor().with_priority(plx::priority::high).with_affinity(1), increment);
            }),
            2);
  EXPECT_EQ(completed_after_the_end([](auto f) {
              const plx::strand in_order;
              return f.then(in_order, increment).then(in_order, increment);
            }),
            3);
  EXPECT_EQ(completed_after_the_end(
                [](auto f) { return plx::dataflow([](auto a, auto b) { return a.get() + b; }, std::move(f), 5); }),
            6);
  const auto thread = std::this_thread::get_id();
  EXPECT_THROW(completed_after_the_end([thread](auto f) {
                 return f.then([thread](auto) -> int {
                   EXPECT_NE(std::this_thread::get_id(), thread);
                   throw std::runtime_error("planned");
                 });
               }),
               std::runtime_error);
}

plx::task<int> nothing(int i) { co_return i; }

plx::task<int> awaits(plx::future<int> f) {
  int sum = co_await std::move(f);
  co_await plx::this_task::yield();
  co_await plx::this_task::sleep_for(100us);
  sum += co_await nothing(10);
  auto [a, b] = co_await plx::when_all(nothing(100), nothing(1000));
  co_return sum + a + b;
}

TEST(late_completion, coroutines_are_resumed_where_the_future_is_completed) {
  EXPECT_EQ(completed_after_the_end([](auto f) { return plx::spawn(awaits(std::move(f))); }), 1111);
}

// Continuations go to a living runtime first.
TEST(late_completion, another_runtime_takes_over) {
  plx::promise<int> p;
  std::optional<unsigned> ran_on;
  plx::future<void> result;
  {
    plx::runtime rt({.workers = 1, .bind = false});
    rt.run([&] { result = p.get_future().then([&ran_on](auto) { ran_on = plx::worker_index(); }); });
  }
  plx::runtime other({.workers = 1, .bind = false});  // perhaps at the same address
  p.set_value(1);
  result.get();
  EXPECT_EQ(ran_on, 0u);
}

// Threads wake tasks while their runtime ends and abandons them.
TEST(late_completion, a_wake_up_races_with_the_end) {
  for (int round = 0; round < 30; ++round) {
    auto p = std::make_unique<plx::promise<int>>();
    std::atomic<int> got{0};
    std::thread late;
    {
      plx::runtime rt({.workers = 2, .bind = false, .shutdown_deadline_s = 0.001});
      plx::latch begun(2);
      rt.post([&, f = std::make_shared<plx::shared_future<int>>(p->get_future().share())] {
        begun.count_down();
        got = f->get();
      });
      begun.count_down();
      begun.wait();
      late = std::thread([&p, round] {
        std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
        p->set_value(7);
      });
    }
    late.join();
    EXPECT_TRUE(got == 0 || got == 7);
  }
}

}  // namespace
