// A sampling profiler: the stack of each watched thread and the type of the task that it runs, at a fixed rate of the
// thread's CPU time.
//
// A timer per thread on the clock of its CPU time (timer_create) sends it a signal; the handler walks the stack
// (stack_walk.hpp) and puts it into the thread's ring, which drain() empties. A thread that sleeps gets no signal, so a
// suspended task or an idle worker costs nothing and is not sampled. The kernel looks at these timers at its tick: at
// more samples per second than ticks (CONFIG_HZ: 100 to 1000) each sample stands for several periods, which are
// counted. The signal is SIGURG, whose default action is none, so that a program that resets it is not harmed; if the
// program has a handler for it, SIGPROF or a real-time signal, whose default action ends the process: a program that
// sets it while it is sampled is ended by the next signal of a timer. Any other action that is set later for the signal
// in use ends the sampling; a handler of the program receives the signals until the next drain(). System calls that
// SA_RESTART does not restart (sleeps, poll) may return EINTR.
//
// Thread safety: all functions. The handler is async-signal-safe: no heap, no lock. Memory: 280 KiB per thread, of
// which used pages count; never freed, because a signal may be on its way.
// Cost: docs/probe.md. Supported on Linux with glibc. Example: probe/sample/test/sampler_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "probe/sample/sample_tree.hpp"
#include "probe/sample/stack_walk.hpp"

namespace plx::probe {

/// The state of a thread at the moment of a sample, with the bounds of its stack, or of the part of the stack that
/// belongs to the running task.
struct sampled_state {
  sampled_activity activity = sampled_activity::outside;
  name_id task = unnamed;
  stack_bounds stack;
};

/// The stack of the calling thread, from the operating system; zeros if unknown.
stack_bounds stack_of_this_thread() noexcept;

/// Describes a watched thread. `now` is called on that thread in a signal handler, and must be async-signal-safe.
struct sample_source {
  sampled_state (*now)(const sample_source& self) noexcept = nullptr;
  void* context = nullptr;
  stack_bounds stack;  // for `now`
};

class sampler {
 public:
  static constexpr double most_hz = 10'000;

  /// Chooses a signal and installs the handler. Errors: every signal has a handler; not supported by the system.
  /// Requires: 0 < hz <= most_hz.
  static result<std::unique_ptr<sampler>> start(double hz);
  /// Calls stop().
  ~sampler();
  sampler(const sampler&) = delete;
  sampler& operator=(const sampler&) = delete;

  /// Samples a thread of this process, by the system's id. Errors: no such thread, no memory, too many threads, a
  /// period that the system does not support.
  result<void> watch(int thread_id, const sample_source& source);
  /// Ends the sampling of a thread, which may have ended or be the caller. No effect if it is not watched.
  void unwatch(int thread_id) noexcept;
  /// Ends the sampling of all threads, and drains.
  void stop() noexcept;

  /// Moves waiting samples into the sum. To be called several times per second.
  void drain();
  /// The sum so far.
  [[nodiscard]] sample_tree tree() const;
  /// Periods of samples that were dropped because a ring was full.
  [[nodiscard]] std::uint64_t lost() const;
  /// As given to start().
  [[nodiscard]] double hz() const noexcept;
  /// The signal in use.
  [[nodiscard]] int signal() const noexcept;
  /// Why the sampling has ended early; "" if it has not.
  [[nodiscard]] std::string failure() const;

 private:
  struct state;
  explicit sampler(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
