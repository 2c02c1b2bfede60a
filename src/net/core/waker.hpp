// A thread that sleeps until a file descriptor becomes readable, and then wakes the runtime, so that a locality that
// waits for messages uses no processor time.
//
// Thread safety: armed() from one thread. Cost: one thread; a system call per event. Example:
// net/core/test/waker_test.cpp
#pragma once

#include <atomic>
#include <thread>

namespace plx {
class runtime;
}

namespace plx::net {

class waker {
 public:
  /// Requires: `rt` outlives it.
  waker(runtime& rt, int fd);
  ~waker();
  waker(const waker&) = delete;
  waker& operator=(const waker&) = delete;

  /// When the descriptor next becomes readable, runtime::ask_pollers() is called, once per call of armed().
  void armed() noexcept;
  /// Whether it is armed and nothing has become readable since.
  [[nodiscard]] bool waiting() const noexcept { return armed_.load(std::memory_order_acquire) != 0; }

 private:
  void run();
  [[nodiscard]] bool wait_until_armed();

  runtime& runtime_;
  const int fd_;
  int end_pipe_[2] = {-1, -1};  // a pipe that ends the wait for the descriptor
  std::atomic<unsigned> armed_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace plx::net
