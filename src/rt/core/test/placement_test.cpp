// Priorities, pinned tasks, stacks of a size that a task requested, and cores as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <alloca.h>
#include <sched.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "rt/core/scheduler.hpp"
#include "rt/core/topology.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace plx {
namespace {

task_info placed(task_placement where) { return {0, probe::no_key, where}; }

TEST(placement, urgent_tasks_go_first_and_low_ones_last) {
  runtime rt({.workers = 1});
  std::vector<int> order;
  rt.run([&] {
    latch all(9);
    const auto note = [&](int n) {
      return [&order, &all, n] {
        order.push_back(n);
        all.count_down();
      };
    };
    for (int i = 0; i < 3; ++i) post(placed({.priority = priority::low}), note(2));
    for (int i = 0; i < 3; ++i) post(note(1));
    for (int i = 0; i < 3; ++i) post(placed({.priority = priority::high}), note(0));
    all.wait();
  });
  EXPECT_EQ(order, (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 2}));
}

TEST(placement, tasks_of_every_priority_end_on_every_schedule) {
  testing::with_every_runtime([](runtime& rt) {
    const int sum = rt.run([] {
      std::vector<future<int>> results;
      for (int i = 0; i < 30; ++i)
        results.push_back(async(placed({.priority = static_cast<priority>(i % 3)}), [i] {
          this_thread::yield();
          return i;
        }));
      int total = 0;
      for (auto& r : results) total += r.get();
      return total;
    });
    EXPECT_EQ(sum, 29 * 30 / 2);
  });
}

TEST(placement, a_pinned_task_stays_on_its_worker_when_it_waits) {
  testing::with_every_runtime([](runtime& rt) {
    rt.run([&] {
      mutex m;
      std::vector<future<void>> all;
      for (unsigned i = 0; i < 16; ++i) {
        const auto worker = static_cast<std::uint16_t>(i % rt.worker_count());
        all.push_back(async(placed({.worker = static_cast<std::uint16_t>(worker + 1)}), [&m, worker] {
          EXPECT_EQ(worker_index(), worker);
          this_thread::yield();
          EXPECT_EQ(worker_index(), worker);
          const std::lock_guard lock(m);
          this_thread::sleep_for(std::chrono::microseconds(1));
          EXPECT_EQ(worker_index(), worker);
        }));
      }
      for (auto& f : all) f.get();
    });
  });
}

TEST(placement, a_pinned_task_wakes_its_sleeping_worker) {
  runtime rt({.workers = 3});
  for (int i = 0; i < 30; ++i) {
    this_thread::sleep_for(std::chrono::milliseconds(1));  // all workers sleep now
    const auto worker = static_cast<unsigned>(i % 3);
    const auto ran_on =
        rt.run(placed({.worker = static_cast<std::uint16_t>(worker + 1)}), [] { return worker_index(); });
    EXPECT_EQ(ran_on, worker);
  }
}

// Touches every page of a frame larger than an ordinary stack.
[[gnu::noinline]] bool fill(std::size_t bytes) {
  auto* memory = static_cast<volatile char*>(alloca(bytes));
  for (std::size_t i = 0; i < bytes; i += 1024) memory[i] = static_cast<char>(i >> 10);
  this_thread::yield();
  for (std::size_t i = 0; i < bytes; i += 1024)
    if (memory[i] != static_cast<char>(i >> 10)) return false;
  return true;
}

TEST(placement, a_task_gets_the_stack_that_it_asks_for) {
  testing::with_every_runtime([](runtime& rt) {
    rt.run([&] {
      std::vector<future<bool>> all;
      for (int i = 0; i < 6; ++i) {
        const std::size_t bytes = i % 2 == 0 ? std::size_t{1} << 20 : std::size_t{4} << 20;
        all.push_back(async(placed({.stack = detail::stack_class(bytes)}), [bytes] { return fill(bytes / 2); }));
      }
      for (auto& f : all) EXPECT_TRUE(f.get());
    });
  });
}

[[gnu::noinline]] int fill_without_waiting(std::size_t bytes) {
  auto* memory = static_cast<volatile char*>(alloca(bytes));
  for (std::size_t i = 0; i < bytes; i += 1024) memory[i] = 1;
  return memory[bytes / 2 / 1024 * 1024];
}

// A task that needs a larger stack never runs in a waiter's frame or from a deque, however it becomes reachable.
TEST(placement, no_waiter_calls_a_task_that_wants_a_larger_stack) {
  runtime rt({.workers = 1, .stack_bytes = std::size_t{64} << 10});
  const task_info large = placed({.stack = detail::stack_class(std::size_t{4} << 20)});
  const auto deep = [] { return fill_without_waiting(std::size_t{2} << 20); };
  rt.run([&] {
    std::vector<future<int>> all;
    for (int i = 0; i < 6; ++i) all.push_back(async(large, deep));
    for (auto& f : all) EXPECT_EQ(f.get(), 1);
    task_group group;
    for (int i = 0; i < 6; ++i) group.run(large, deep);
    this_thread::sleep_for(std::chrono::milliseconds(1));
    group.wait();
  });
}

TEST(placement, classes_of_stacks_hold_what_was_asked_for) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{16384}, std::size_t{16385}, std::size_t{1} << 20}) {
    const unsigned c = detail::stack_class(bytes);
    EXPECT_GE(detail::bytes_of_stack_class(c), bytes);
    if (c > 2) {
      EXPECT_LT(detail::bytes_of_stack_class(c - 1), bytes);
    }
  }
}

TEST(places, cores_are_named_by_text) {
  const auto& all = detail::allowed_cores();
  EXPECT_EQ(detail::processors_named("all"), all);
  EXPECT_EQ(detail::processors_named(std::to_string(all[0])), std::vector<unsigned>{all[0]});
  const std::string twice = std::to_string(all[0]) + "," + std::to_string(all[0]);
  EXPECT_EQ(detail::processors_named(twice), std::vector<unsigned>{all[0]});
}

TEST(places, wrong_cores_are_refused_with_one_line) {
  const auto message = [](std::string_view text) -> std::string {
    try {
      detail::processors_named(text);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message("0-x"), ::testing::HasSubstr("'0-x' is not understood: expected processors"));
  EXPECT_THAT(message(""), ::testing::HasSubstr("is not understood"));
  EXPECT_THAT(message("3-1"), ::testing::HasSubstr("is not understood"));
  EXPECT_THAT(message("gpu:0"), ::testing::HasSubstr("unknown kind"));
  EXPECT_THAT(message("0-99999"), ::testing::HasSubstr("which this process may not use"));
  EXPECT_THAT(message("0-4294967295"), ::testing::HasSubstr("which this process may not use"));
  EXPECT_THAT(message("60000"), ::testing::HasSubstr("may not use"));
  EXPECT_THAT(message("core:60000"), ::testing::HasSubstr("this machine has"));
  EXPECT_THROW(runtime({.cores = "nowhere"}), std::invalid_argument);
  EXPECT_THROW(runtime({.workers = 1u << 20}), std::invalid_argument);
}

TEST(places, two_runtimes_on_different_cores) {
  const auto& all = detail::allowed_cores();
  runtime one({.cores = std::to_string(all.front())}), other({.cores = std::to_string(all.back())});
  EXPECT_EQ(one.worker_count(), 1u);
  EXPECT_THAT(other.bindings(), ::testing::HasSubstr("processor " + std::to_string(all.back())));
  const auto here = [] { return sched_getcpu(); };
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(one.run(here), static_cast<int>(all.front()));
    EXPECT_EQ(other.run(here), static_cast<int>(all.back()));
  }
}

TEST(places, the_environment_says_how_many_workers) {
  const auto workers = [](const char* name, const char* value) {
    setenv(name, value, 1);
    unsigned n = 0;
    try {
      n = detail::default_worker_count(8);
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr("expected a number of workers"));
    }
    unsetenv(name);
    return n;
  };
  EXPECT_EQ(workers("PLX_THREADS", "3"), 3u);
  EXPECT_EQ(workers("PLX_THREADS", "none"), 0u);
  EXPECT_EQ(workers("PLX_THREADS", "-1"), 0u);
  EXPECT_EQ(workers("SLURM_CPUS_PER_TASK", "1"), 1u);
  EXPECT_LE(workers("SLURM_CPUS_PER_TASK", "1000"), 8u);
}

TEST(places, near_processors_are_nearer_than_far_ones) {
  const auto& all = detail::allowed_cores();
  EXPECT_EQ(detail::processor_distance(all[0], all[0]), 0u);
  if (all.size() > 1) {
    EXPECT_GT(detail::processor_distance(all[0], all[1]), 0u);
  }
}

}  // namespace
}  // namespace plx
