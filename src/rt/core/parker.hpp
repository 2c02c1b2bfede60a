// Puts an operating-system thread to sleep until another one wakes it: a binary semaphore with a deadline.
//
// Thread safety: one thread waits, any thread may wake it. A wake before the wait is not lost. Cost: a futex each way.
#pragma once

#include <cstdint>
#include <memory>

namespace plx::detail {

class parker {
 public:
  parker();
  ~parker();
  parker(const parker&) = delete;
  parker& operator=(const parker&) = delete;

  void wait();
  /// False when `nanoseconds` passed without a wake.
  bool wait_for(std::int64_t nanoseconds);
  void wake();

 private:
  struct state;  // hides <mutex> and <condition_variable>
  std::unique_ptr<state> state_;
};

/// The calling thread's own.
parker& this_thread_parker();

}  // namespace plx::detail
