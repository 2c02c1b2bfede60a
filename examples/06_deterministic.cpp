// The deterministic mode: one thread, and a seed that decides at every choice point which task runs next. A test run
// with many seeds finds a race that would appear once a month on real workers, and its seed reproduces it every time.
#include <cstdio>

#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

// Two deposits of 10. Without the mutex, one may overwrite the other.
int balance_after_deposits(std::uint64_t seed, bool with_mutex) {
  plx::runtime rt({.workers = 2, .deterministic = true, .seed = seed});
  return rt.run([with_mutex] {
    int balance = 0;
    plx::mutex guard;
    const auto deposit = [&] {
      plx::unique_lock lock(guard, plx::defer_lock);
      if (with_mutex) lock.lock();
      const int before = balance;
      plx::this_thread::yield();  // whenever a task waits or yields, another one may run
      balance = before + 10;
    };
    plx::parallel_invoke(deposit, deposit);
    return balance;
  });
}

int main() {
  int lost = 0, lost_again = 0, lost_with_mutex = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const bool race = balance_after_deposits(seed, false) != 20;
    lost += race;
    lost_again += race && balance_after_deposits(seed, false) != 20;
    lost_with_mutex += balance_after_deposits(seed, true) != 20;
  }
  std::printf("a deposit was lost: %s\n", lost > 0 ? "yes" : "no");
  std::printf("the same seeds lose it again: %s\n", lost_again == lost ? "yes" : "no");
  std::printf("with the mutex: %d times in 100\n", lost_with_mutex);
}

// Output:
//   a deposit was lost: yes
//   the same seeds lose it again: yes
//   with the mutex: 0 times in 100
