// Reports about tasks: every suspended task with the place where it waits, deadlock cycles, and stack overflows.
//
// Thread-safe, also while tasks run. Cost: a backtrace per suspended task, during which no suspended task is resumed
// (in batches of 256); finding lines starts addr2line, see base/symbols.hpp. Example: explain_test.cpp.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "probe/record/names.hpp"

namespace plx::detail {

class scheduler;
struct fiber;

/// One suspended task at the time of inspection.
struct waiting_task {
  const fiber* on = nullptr;
  probe::name_id name = 0;
  std::uint64_t key = probe::no_key;
  const char* what = "";
  const void* object = nullptr;
  probe::name_id object_name = 0;
  bool timed = false;         // ends by itself at a deadline
  bool ready = false;         // resumed, and waits for a worker
  bool for_tasks_of = false;  // waits for the tasks whose owner is `object`
  bool held = false;          // `object` is held by a task or thread
  std::uintptr_t holder = 0;  // an address on the holder's stack
  ticks since = 0;
  std::vector<const void*> owners;  // of the task, and of those that run it in their own frames
  std::vector<const void*> frames;  // return addresses, innermost first

  // Filled in after all tasks have been inspected:
  std::vector<std::size_t> waits_for;  // tasks of the same list that must proceed before it can
};

struct wait_report {
  std::vector<waiting_task> tasks;                  // at most `most_tasks`
  std::size_t unseen = 0;                           // number of further waiting tasks
  std::vector<std::vector<std::size_t>> deadlocks;  // each waits for the next one, the last for the first

  static constexpr std::size_t most_tasks = 100'000;
  static constexpr std::size_t most_frames = 40;
};

wait_report look_at_waits(scheduler& s);
/// Deadlocks first, then the tasks in groups that wait at the same place. Empty when no task waits. `with_ages`: adds
/// how long they have waited.
std::string text_of(const wait_report& r, bool with_ages);

/// Reports on all living runtimes; "no task waits\n" when none does.
std::string explain_all_waits();
/// One message per line.
void log_explanation(log_level level, std::string_view text);
/// Writes to the log, as warnings, or to stderr when no sink of the log takes warnings.
void print_explanation(std::string_view text);

// The signal on which the process reports its waiting tasks.
//
// Thread-safe. Cost: a thread that sleeps until the signal comes. The handler only posts a semaphore.
// Example: hang_test.cpp.

/// The signal "QUIT", "SIGUSR1" or "10". Throws std::invalid_argument for other text, which `option` had.
int signal_named(std::string_view name, std::string_view option);

/// While one lives, `signal` makes a thread print explain_all_waits(). 0: does nothing. Several may share a signal; the
/// action before the first one is restored after the last.
class explain_signal {
 public:
  explicit explain_signal(int signal);
  ~explain_signal();
  explain_signal(const explain_signal&) = delete;
  explain_signal& operator=(const explain_signal&) = delete;

 private:
  int signal_;
};

// The call stack of a suspended fiber, read from outside: nothing runs on the fiber and nothing is written to it.
//
// Thread safety: the fiber must stay suspended meanwhile, see scheduler::stop_resuming(). Cost: about 1 us per frame,
// no allocation. Example: explain_test.cpp.

/// Writes the return addresses of the functions on the stack left at `context` (from Boost.Context), innermost first,
/// and returns their number, at most `most`. Returns 0 on unsupported architectures.
std::size_t frames_of(void* context, const void** out, std::size_t most) noexcept;

// The message of a task that overflows its stack.
//
// Thread-safe. Cost: two system calls per thread and runtime for setup, none afterwards until an overflow.
// Example: overflow_test.cpp.

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
