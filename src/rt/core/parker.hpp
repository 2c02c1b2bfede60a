// Where an operating-system thread sleeps until somebody wakes it: a binary semaphore with a deadline.
//
// Thread safety: wait by one thread, wake by any. A wake before the wait is not lost. Cost: a futex each way.
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
  /// False when `nanoseconds` passed first.
  bool wait_for(std::int64_t nanoseconds);
  void wake();

 private:
  struct state;  // hides <mutex> and <condition_variable>
  std::unique_ptr<state> state_;
};

/// The calling thread's own.
parker& this_thread_parker();

}  // namespace plx::detail
