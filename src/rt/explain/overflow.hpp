// The message of a task that overflows its stack.
//
// Thread-safe. Cost: two system calls per thread and runtime for setup, none afterwards until an overflow.
// Example: misuse_test.cpp.
#pragma once

#include <csignal>
#include <cstddef>

namespace plx::detail {

struct fiber;

/// While one lives, SIGSEGV in a guard names the task; all other faults go to the previously installed handler.
class overflow_watch {
 public:
  explicit overflow_watch(bool wanted);
  ~overflow_watch();
  overflow_watch(const overflow_watch&) = delete;
  overflow_watch& operator=(const overflow_watch&) = delete;

 private:
  bool on_ = false;
};

/// A stack for signal handlers of the calling thread, which must be the one that destroys it.
class signal_stack {
 public:
  explicit signal_stack(bool wanted);
  ~signal_stack();
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

 private:
  static constexpr std::size_t bytes_ = std::size_t{64} << 10;
  void* memory_ = nullptr;
  stack_t before_{};
};

/// Ends the program with the name of the running task: the words below its stack, which has no guard, were
/// overwritten.
[[noreturn, gnu::cold]] void unguarded_stack_overflowed(const fiber& f);

}  // namespace plx::detail
