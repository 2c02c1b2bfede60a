// oneTBB's tasks wait for each other by suspending themselves and resuming the other's suspend point.
#include "library/tbb.hpp"

#include <tbb/task.h>
#include <tbb/task_group.h>

#include <atomic>

#include "library/contest.hpp"

namespace {

/// A binary semaphore: empty, one release ahead, or the suspended task that waits.
class semaphore {
 public:
  void release() {
    void* before = state_.exchange(ahead, std::memory_order_acq_rel);
    if (before != nullptr && state_.exchange(nullptr, std::memory_order_acq_rel) == ahead)
      tbb::task::resume(static_cast<tbb::task::suspend_point>(before));
  }
  void acquire() {
    void* expected = ahead;
    if (state_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel)) return;
    tbb::task::suspend([this](tbb::task::suspend_point me) {
      void* empty = nullptr;
      if (state_.compare_exchange_strong(empty, me, std::memory_order_acq_rel)) return;
      state_.store(nullptr, std::memory_order_release);  // released in between
      tbb::task::resume(me);
    });
  }

 private:
  static inline char mark = 0;
  static inline void* const ahead = &mark;
  std::atomic<void*> state_{nullptr};
};

long ping_pong(int rounds) {
  semaphore ping, pong;
  long switches = 0;
  tbb::task_group both;
  both.run([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.acquire();
      ++switches;
      pong.release();
    }
  });
  both.run([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.release();
      pong.acquire();
      ++switches;
    }
  });
  both.wait();
  return switches;
}

const plx::bench::entry<long(int)> me("tbb", [](int rounds) {
  return plx::bench::tbb_arena().execute([rounds] { return ping_pong(rounds); });
});

}  // namespace
