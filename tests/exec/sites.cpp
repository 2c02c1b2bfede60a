// Mutexes without a name, in known places: two at one address, one after the other, and one in an object on the heap
// that a lambda locks. Built with and without optimization. Usage: sites reuse|heap
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "waits_in_futex.h"

namespace {

/// Another thread holds the mutex until this thread waits for it, and for some more time.
[[gnu::always_inline]] inline void contend(std::mutex& m, int hold_ms) {
  std::atomic<bool> held{false};
  std::atomic<int> waiter{0};
  std::thread holder([&] {
    const std::lock_guard lock(m);
    held = true;
    while (waiter == 0 || waits_in_futex(waiter) == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(hold_ms));
  });
  while (!held) std::this_thread::yield();
  waiter = own_thread_id();
  const std::lock_guard lock(m);
  holder.join();
}

}  // namespace

[[gnu::noinline]] void quick_phase_first(std::mutex& m) {
  for (int i = 0; i < 20; ++i) contend(m, 1);
}
[[gnu::noinline]] void slow_phase_later(std::mutex& m) { contend(m, 200); }

namespace {

void reuse() {
  void* place = ::operator new(sizeof(std::mutex));
  auto* first = new (place) std::mutex;
  quick_phase_first(*first);
  first->~mutex();
  auto* second = new (place) std::mutex;
  slow_phase_later(*second);
  second->~mutex();
  ::operator delete(place);
}

struct account {
  std::mutex lock;
  long sum = 0;
};

void heap() {
  const auto a = std::make_unique<account>();
  std::atomic<bool> held{false};
  std::atomic<int> waiter{0};
  std::thread one([&] {
    const std::lock_guard lock(a->lock);
    held = true;
    while (waiter == 0 || waits_in_futex(waiter) == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ++a->sum;
  });
  std::thread two([&] {
    while (!held) std::this_thread::yield();
    waiter = own_thread_id();
    const std::lock_guard lock(a->lock);
    ++a->sum;
  });
  one.join();
  two.join();
  std::printf("%ld\n", a->sum);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "heap") == 0) heap();
  if (argc > 1 && std::strcmp(argv[1], "reuse") == 0) reuse();
  return 0;
}
