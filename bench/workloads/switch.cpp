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

// ---- plx
namespace with_plx {

long ping_pong(int rounds) {
  plx::binary_semaphore ping(0), pong(0);
  long switches = 0;
  plx::task_group other;
  other.run([&] {
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
  other.wait();
  return switches;
}

const entry<long(int)> me("plx", [](int rounds) {
  return plx::bench::plx_runtime().run([rounds] { return ping_pong(rounds); });
});

}  // namespace with_plx

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

const entry<long(int)> me("tbb", [](int rounds) {
  return plx::bench::tbb_arena().execute([rounds] { return ping_pong(rounds); });
});

}  // namespace with_tbb
#endif

// ---- standard library
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

const entry<long(int)> me("std", ping_pong);

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
