// A thread that sleeps until a file descriptor has something to say, and then wakes the runtime. So a locality that
// waits for messages costs no processor time.
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

  /// Once for this call, when the descriptor becomes readable, runtime::ask_pollers() is called.
  void armed() noexcept;
  /// It was armed, and nothing has become readable since.
  [[nodiscard]] bool waiting() const noexcept { return armed_.load(std::memory_order_acquire) != 0; }

 private:
  void run();
  [[nodiscard]] bool wait_until_armed();

  runtime& runtime_;
  const int fd_;
  int door_[2] = {-1, -1};  // a pipe that ends the wait for the descriptor
  std::atomic<unsigned> armed_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace plx::net
