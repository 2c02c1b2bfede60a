// A thread that sleeps on a condition variable, as in a hand-written pool.
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <thread>

#include "library/contest.hpp"
#include "wake/wake.hpp"

namespace {

struct sleeper {
  std::mutex mutex;
  std::condition_variable changed;
  bool posted = false;
  bool end = false;
  wake_clock::time_point began;
  std::binary_semaphore ran{0};
  std::thread thread{[this] {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return posted || end; });
      if (end) return;
      began = wake_clock::now();
      posted = false;
      ran.release();
    }
  }};

  ~sleeper() {
    {
      std::lock_guard lock(mutex);
      end = true;
    }
    changed.notify_one();
    thread.join();
  }
};

const plx::bench::entry<wake_run> me("std", [] {
  static sleeper s;
  {
    std::lock_guard lock(s.mutex);
    s.posted = true;
  }
  s.changed.notify_one();
  s.ran.acquire();
  return s.began;
});

}  // namespace
