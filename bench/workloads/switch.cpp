// Two tasks that alternately wait for each other (std: two threads; not possible with OpenMP tasks). switch/LIBRARY: ns
// of wall time from one to the other, on all workers; /w1 on one worker.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/latch.hpp"
#include "rt/task_group.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/task.h>
#include <tbb/task_group.h>
#endif

namespace {

using plx::bench::entry;

/// Two loops that alternately wait for each other; `both(a, b)` runs them concurrently. Returns the switches.
template <class Semaphore, class Both>
long ping_pong(Semaphore& ping, Semaphore& pong, int rounds, Both&& both) {
  long switches = 0;
  both(
      [&] {
        for (int i = 0; i < rounds; ++i) {
          ping.acquire();
          ++switches;
          pong.release();
        }
      },
      [&] {
        for (int i = 0; i < rounds; ++i) {
          ping.release();
          pong.acquire();
          ++switches;
        }
      });
  return switches;
}

const entry<long(int)> with_plx("plx", [](int rounds) {
  return plx::bench::plx_runtime().run([rounds] {
    plx::binary_semaphore ping(0), pong(0);
    return ping_pong(ping, pong, rounds, [](auto a, auto b) {
      plx::task_group other;
      other.run(a);
      b();
      other.wait();
    });
  });
});

#ifdef PLX_HAVE_TBB
// ---- oneTBB
// oneTBB's tasks wait for each other by suspending themselves and resuming the other's suspend point.
namespace with_tbb {

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

const entry<long(int)> me("tbb", [](int rounds) {
  return plx::bench::tbb_arena().execute([rounds] {
    semaphore ping, pong;
    return ping_pong(ping, pong, rounds, [](auto a, auto b) {
      tbb::task_group both;
      both.run(a);
      both.run(b);
      both.wait();
    });
  });
});

}  // namespace with_tbb
#endif

namespace with_std {

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

const entry<long(int)> me("std", [](int rounds) {
  semaphore ping, pong;
  return ping_pong(ping, pong, rounds, [](auto a, auto b) {
    std::thread other(a);
    b();
    other.join();
  });
});

}  // namespace with_std

// ---- measurement
int rounds_for(const entry<long(int)>& e, bool quick) {
  const int n = e.is("plx") ? 300'000 : e.is("tbb") ? 20'000 : 10'000;
  return quick ? n / 10 : n;
}

void compete(plx::bench::contest& c, unsigned workers, const std::string& suffix) {
  const auto medians = plx::bench::in_turns<long(int)>(c, c.turns(7), workers, [&](const entry<long(int)>& e) {
    const int rounds = rounds_for(e, c.quick);
    e.run(100);
    long switches = 0;
    const auto time = plx::bench::timed([&] { switches = e.run(rounds); });
    plx::bench::expect_same(e.label, switches, 2L * rounds);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("switch/") + who->label + suffix, time.wall_s / (2.0 * rounds_for(*who, c.quick)) * 1e9,
                  "ns", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, c.threads, "");
  if (c.threads > 1) compete(c, 1, "/w1");
  return c.finish();
}
