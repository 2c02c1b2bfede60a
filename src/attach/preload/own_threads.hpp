// The threads of the measurement, and whether others are left.
//
// The C library ends a process with its last thread. If the main thread has ended by pthread_exit() or was cancelled,
// the threads of the measurement must not be that last thread: they never end.
// Thread safety: all functions. Cost: reads /proc/self/task.
// Example: tests/exec/plx_exec_test.cpp
#pragma once

namespace plx::probe {

/// Marks the calling thread as one of the measurement during the lifetime of the object. More than 64 at once are taken
/// for threads of the program.
class own_thread {
 public:
  own_thread() noexcept;
  ~own_thread();
  own_thread(const own_thread&) = delete;
  own_thread& operator=(const own_thread&) = delete;

 private:
  int place_ = -1;
};

/// True when all other threads of the process have ended. False if that cannot be determined.
bool only_own_threads_are_left() noexcept;

}  // namespace plx::probe
