#include <condition_variable>
#include <mutex>
#include <thread>

#include "library/contest.hpp"

namespace {

class semaphore {
 public:
  void release() {
    {
      std::lock_guard lock(mutex_);
      free_ = true;
    }
    changed_.notify_one();
  }
  void acquire() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return free_; });
    free_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool free_ = false;
};

long ping_pong(int rounds) {
  semaphore ping, pong;
  long switches = 0;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.acquire();
      ++switches;
      pong.release();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ping.release();
    pong.acquire();
    ++switches;
  }
  other.join();
  return switches;
}

const plx::bench::entry<long(int)> me("std", ping_pong);

}  // namespace
