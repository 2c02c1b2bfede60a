#include "probe/sample/stack_walk.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <vector>

#include "base/symbols.hpp"
#include "probe/sample/sampler.hpp"

namespace plx::probe {
namespace {

// Results of the handler: of this walk, and of the C++ runtime's unwinder.
constexpr std::size_t most = 300;
std::uintptr_t ours[most], theirs[most];
walked_stack walked;
std::size_t n_theirs;
stack_bounds bounds;
walk_cache cache;
std::size_t limit = most;

_Unwind_Reason_Code take(_Unwind_Context* c, void*) {
  if (n_theirs == most || _Unwind_GetIP(c) == 0) return _URC_END_OF_STACK;
  theirs[n_theirs++] = _Unwind_GetIP(c);
  return _URC_NO_REASON;
}

void on_signal(int, siginfo_t*, void* context) {
  walked = walk_stack(context, bounds, ours, limit, cache);
  n_theirs = 0;
  _Unwind_Backtrace(take, nullptr);
}

class StackWalk : public testing::Test {
 protected:
  void SetUp() override {
    if (!walks_stacks()) GTEST_SKIP() << "callers are not found here";
    bounds = stack_of_this_thread();
    ASSERT_NE(bounds.top, 0u);
    limit = most;
    walked = {};
    struct sigaction handler {};
    handler.sa_sigaction = on_signal;
    handler.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &handler, &before_);
  }
  void TearDown() override { sigaction(SIGUSR1, &before_, nullptr); }

  static void expect_the_same() {
    ASSERT_GT(walked.frames, 0u);
    EXPECT_TRUE(walked.whole);
    const auto* begin = std::find(theirs, theirs + n_theirs, ours[0]);  // after the frames of the handler
    EXPECT_TRUE(std::equal(begin, static_cast<const std::uintptr_t*>(theirs) + n_theirs, ours, ours + walked.frames))
        << walked.frames << " frames instead of " << theirs + n_theirs - begin;
  }

 private:
  struct sigaction before_ {};
};

[[gnu::noinline]] int recursion(int depth) {
  if (depth == 0) return raise(SIGUSR1);
  const int below = recursion(depth - 1);
  asm volatile("" ::: "memory");  // not a tail call
  return below;
}

/// Its locals are aligned to 64 bytes, so that the compiler uses other rules for its frame.
[[gnu::noinline]] int aligned(int depth) {
  alignas(64) volatile double values[16] = {};
  values[depth % 16] = depth;
  const int below = depth == 0 ? raise(SIGUSR1) : aligned(depth - 1);
  return below + static_cast<int>(values[(depth + 1) % 16]);
}

/// The size of its frame is not known to the compiler.
[[gnu::noinline]] int variable(std::size_t n) {
  auto* bytes = static_cast<volatile char*>(__builtin_alloca(n));
  bytes[n - 1] = 1;
  return raise(SIGUSR1) + bytes[n - 1] - 1;
}

TEST_F(StackWalk, FindsTheCallersThatTheUnwinderFinds) {
  ASSERT_EQ(recursion(5), 0);
  expect_the_same();
  ASSERT_EQ(aligned(5), 0);
  expect_the_same();
  ASSERT_EQ(variable(1000), 0);
  expect_the_same();
  ASSERT_EQ(recursion(5), 0);  // from the cache
  expect_the_same();
}

TEST_F(StackWalk, CallersOfOtherLibrariesAreFound) {
  std::vector<int> v{3, 1, 2};
  static int raised;
  raised = 0;
  std::qsort(v.data(), v.size(), sizeof v[0], [](const void* a, const void* b) {
    if (raised++ == 0) raise(SIGUSR1);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  expect_the_same();
}

TEST_F(StackWalk, TheWalkEndsAtItsLimit) {
  limit = 7;
  ASSERT_EQ(recursion(20), 0);
  EXPECT_EQ(walked.frames, 7u);
  EXPECT_FALSE(walked.whole);
}

/// The stack ends below this function, whose frame is small, also under AddressSanitizer.
[[gnu::noinline]] int recursion_at_the_top(int depth) {
  bounds.top = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - 16;
  const int below = recursion(depth);
  asm volatile("" ::: "memory");  // not a tail call
  return below;
}

TEST_F(StackWalk, TheWalkEndsAtTheTop) {
  ASSERT_EQ(recursion(20), 0);
  const std::size_t all = walked.frames;
  ASSERT_EQ(recursion_at_the_top(20), 0);
  EXPECT_LT(walked.frames, all);
  EXPECT_GT(walked.frames, 20u);
  EXPECT_TRUE(walked.whole);
}

TEST_F(StackWalk, OutsideOfTheBoundsOnlyTheRunningFunctionIsKnown) {
  for (const stack_bounds b :
       {stack_bounds{}, stack_bounds{1, 1000}, stack_bounds{~std::uintptr_t{0} - 8, ~std::uintptr_t{0}}}) {
    bounds = b;
    ASSERT_EQ(recursion(3), 0);
    EXPECT_EQ(walked.frames, 1u);
    EXPECT_FALSE(walked.whole);
  }
}

TEST_F(StackWalk, AWrongContextEndsTheWalk) {
  ucontext_t c{};
  ASSERT_EQ(getcontext(&c), 0);
#if defined(__x86_64__)
  for (const std::uintptr_t pc :
       {std::uintptr_t{0}, std::uintptr_t{1}, reinterpret_cast<std::uintptr_t>(&c), ~std::uintptr_t{0}}) {
    c.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
    EXPECT_EQ(walk_stack(&c, bounds, ours, most, cache).frames, 1u);
    EXPECT_EQ(ours[0], pc);
  }
  // Registers that point anywhere: every read is checked.
  c.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&aligned) + 40);
  for (const std::uintptr_t fp :
       {std::uintptr_t{0}, std::uintptr_t{8}, bounds.low, bounds.top, bounds.top - 8, ~std::uintptr_t{7}}) {
    c.uc_mcontext.gregs[REG_RBP] = static_cast<greg_t>(fp);
    EXPECT_GE(walk_stack(&c, bounds, ours, most, cache).frames, 1u);
  }
#endif
}

}  // namespace
}  // namespace plx::probe
