#include "rt/future.hpp"

#include <gtest/gtest.h>

#include "rt/async.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

namespace {

long fib(int n) {
  if (n < 2) return n;
  long a = 0;
  plx::task_group g;
  g.run([&a, n] { a = fib(n - 1); });
  const long b = fib(n - 2);
  g.wait();
  return a + b;
}

TEST(future, async_gives_result) {
  plx::runtime rt({.workers = 2});
  EXPECT_EQ(rt.run([] { return plx::async([](int x) { return x + 1; }, 41).get(); }), 42);
}
TEST(future, fib) {
  plx::runtime rt({.workers = 2});
  EXPECT_EQ(rt.run([] { return fib(25); }), 75025);
}

}  // namespace
