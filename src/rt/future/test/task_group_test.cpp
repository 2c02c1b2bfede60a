#include "rt/task_group.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>

#include "rt/executor.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;

long fib(int n) {
  if (n < 2) return n;
  long a = 0;
  plx::task_group children;
  children.run([&a, n] { a = fib(n - 1); });
  const long b = fib(n - 2);
  children.wait();
  return a + b;
}

TEST(task_group, fib) {
  on_every_schedule([] { EXPECT_EQ(fib(12), 144); });
  plx::runtime rt({.workers = 4, .bind = false});
  EXPECT_EQ(rt.run([] { return fib(22); }), 17711);
}

TEST(task_group, more_children_than_fit_into_the_group) {
  on_every_schedule([] {
    std::array<int, 200> seen{};
    std::array<char, 100> large{};
    plx::task_group g;
    for (auto& s : seen) g.run([&s, large] { s += 1 + large[50]; });
    g.wait();
    for (int s : seen) EXPECT_EQ(s, 1);
  });
}

TEST(task_group, captures_keep_their_alignment) {
  struct alignas(64) vector_like {
    double d[128] = {};  // too large for a pooled block
  };
  struct alignas(64) small {
    double d[8] = {};
  };
  const auto aligned = [](const auto& x) { return reinterpret_cast<std::uintptr_t>(&x) % 64 == 0; };
  on_every_schedule([&] {
    const vector_like big{};
    const small little{};
    plx::task_group g;
    for (int i = 0; i < 3; ++i) {
      g.run([big, &aligned] { EXPECT_TRUE(aligned(big)); });
      g.run([little, &aligned] { EXPECT_TRUE(aligned(little)); });
    }
    g.wait();
    EXPECT_TRUE(plx::async([big, &aligned] { return aligned(big); }).get());
    EXPECT_TRUE(plx::async([little, &aligned] { return aligned(little); }).get());
  });
}

TEST(task_group, used_again_after_wait) {
  on_every_schedule([] {
    plx::task_group g;
    int n = 0;
    for (int round = 0; round < 5; ++round) {
      std::atomic<int> sum{0};
      for (int i = 0; i < 4; ++i) g.run([&sum] { sum.fetch_add(1); });
      g.wait();
      n += sum.load();
    }
    EXPECT_EQ(n, 20);
  });
}

TEST(task_group, children_that_wait) {
  on_every_schedule([] {
    std::atomic<int> done{0};
    plx::task_group g;
    for (int i = 0; i < 8; ++i)
      g.run([&done] {
        plx::this_thread::yield();
        plx::async([] { plx::this_thread::yield(); }).get();
        done.fetch_add(1);
      });
    g.wait();
    EXPECT_EQ(done.load(), 8);
  });
}

TEST(task_group, other_tasks_between_the_children) {
  on_every_schedule([] {
    int child = 0;
    plx::task_group g;
    g.run([&child] { child = 1; });
    auto other = plx::async([] { return 2; });  // above the child in the deque
    g.wait();
    EXPECT_EQ(child, 1);
    EXPECT_EQ(other.get(), 2);
  });
}

TEST(task_group, the_first_exception_is_thrown_and_all_children_end) {
  on_every_schedule([] {
    std::atomic<int> ended{0};
    plx::task_group g;
    for (int i = 0; i < 6; ++i)
      g.run([&ended, i] {
        ended.fetch_add(1);
        if (i % 2 == 0) throw std::runtime_error("planned");
      });
    EXPECT_THROW(g.wait(), std::runtime_error);
    EXPECT_EQ(ended.load(), 6);
    g.run([&ended] { ended.fetch_add(1); });
    g.wait();
    EXPECT_EQ(ended.load(), 7);
  });
}

void visit(plx::task_group& g, std::atomic<int>& visited, int depth) {
  visited.fetch_add(1);
  if (depth == 0) return;
  for (int i = 0; i < 2; ++i) g.run([&g, &visited, depth] { visit(g, visited, depth - 1); });
}

// The whole tree in one group: children start children while the parent works, yields, or waits.
TEST(task_group, children_start_children) {
  on_every_schedule([] {
    std::atomic<int> visited{0};
    plx::task_group g;
    for (int round = 1; round <= 3; ++round) {
      visit(g, visited, 4);
      if (round == 2) plx::this_thread::yield();
      if (round == 3) plx::this_thread::sleep_for(std::chrono::microseconds(50));
      g.wait();
      EXPECT_EQ(visited.load(), 31 * round);
    }
  });
  plx::runtime rt({.workers = 4, .bind = false});
  rt.run([] {
    std::atomic<int> visited{0};
    plx::task_group g;
    visit(g, visited, 12);
    g.wait();
    EXPECT_EQ(visited.load(), (1 << 13) - 1);
  });
}

TEST(task_group, children_that_wait_start_children) {
  on_every_schedule([] {
    std::atomic<int> ended{0};
    plx::task_group g;
    const auto leaf = [&ended] {
      plx::this_thread::yield();
      ended.fetch_add(1);
    };
    for (int i = 0; i < 3; ++i)
      g.run(plx::task_info{plx::probe::register_name("named")}, [&g, &ended, leaf] {
        g.run(leaf);
        plx::this_thread::yield();
        plx::task_group inner;
        inner.run([&g, leaf] { g.run(plx::executor(), leaf); });
        inner.wait();
        plx::async([&g, leaf] { g.run(leaf); }).get();
        ended.fetch_add(1);
      });
    g.wait();
    EXPECT_EQ(ended.load(), 12);
    g.run(leaf);
    g.wait();
    EXPECT_EQ(ended.load(), 13);
  });
}

TEST(task_group, the_destructor_waits_for_children_of_children) {
  on_every_schedule([] {
    std::atomic<int> visited{0};
    {
      plx::task_group g;
      g.run([&g, &visited] { visit(g, visited, 3); });
      plx::this_thread::yield();
    }
    EXPECT_EQ(visited.load(), 15);
  });
}

TEST(task_group, children_of_an_external_thread_start_children) {
  plx::runtime rt({.workers = 2, .bind = false});
  std::atomic<int> visited{0};
  plx::task_group g;
  for (int round = 1; round <= 20; ++round) {
    g.run([&g, &visited] { visit(g, visited, 5); });
    g.wait();
    EXPECT_EQ(visited.load(), 63 * round);
  }
}

TEST(task_group, an_exception_of_a_child_of_a_child) {
  on_every_schedule([] {
    std::atomic<int> ended{0};
    plx::task_group g;
    g.run([&g, &ended] {
      g.run([&ended] {
        ended.fetch_add(1);
        throw std::runtime_error("planned");
      });
      g.run([&ended] { ended.fetch_add(1); });
    });
    EXPECT_THROW(g.wait(), std::runtime_error);
    EXPECT_EQ(ended.load(), 2);
  });
}

TEST(task_group, the_destructor_waits) {
  on_every_schedule([] {
    std::atomic<int> ended{0};
    {
      plx::task_group g;
      for (int i = 0; i < 5; ++i) g.run([&ended] { ended.fetch_add(1); });
    }
    EXPECT_EQ(ended.load(), 5);
  });
}

// The group's destructor waits, and the task may resume on another worker, while an exception propagates.
TEST(task_group, children_are_waited_for_while_an_exception_propagates) {
  on_every_schedule([] {
    const auto work = [] {
      std::atomic<int> ended{0};
      try {
        plx::task_group g;
        for (int i = 0; i < 3; ++i)
          g.run([&ended] {
            plx::this_thread::yield();
            ended.fetch_add(1);
          });
        throw std::runtime_error("planned");
      } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "planned");
        EXPECT_EQ(ended.load(), 3);
      }
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      EXPECT_EQ(std::current_exception(), nullptr);
    };
    plx::parallel_invoke(work, work, work);
  });
}

TEST(task_group, from_an_external_thread) {
  plx::runtime rt({.workers = 2, .bind = false});
  std::atomic<int> ended{0};
  for (int round = 0; round < 100; ++round) {
    plx::task_group g;
    for (int i = 0; i < 3; ++i) g.run([&ended] { ended.fetch_add(1); });
    g.wait();
  }
  EXPECT_EQ(ended.load(), 300);
}

TEST(task_group, parallel_invoke) {
  on_every_schedule([] {
    int a = 0, b = 0, c = 0;
    plx::parallel_invoke([&a] { a = 1; }, [&b] { b = 2; }, [&c] { c = 3; });
    EXPECT_EQ(a + b + c, 6);
  });
}

}  // namespace
