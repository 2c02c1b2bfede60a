// More synchronization: a barrier between the steps of several tasks, a semaphore that admits a few at a time, a
// reader-writer lock, an event, and waits with a deadline. A waiting task gives up its worker.
#include <chrono>
#include <cstdio>
#include <vector>

#include "rt/event.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/thread.hpp"

using namespace std::chrono_literals;

// Each task smooths its own cell; no task starts the next step before all have finished this one.
double smooth(std::size_t n_cells, int n_steps) {
  std::vector<double> now(n_cells), next(n_cells);
  now[0] = 1024;
  plx::barrier step_is_done(static_cast<std::ptrdiff_t>(n_cells), [&]() noexcept { now.swap(next); });
  std::vector<plx::future<void>> cells;
  for (std::size_t i = 0; i < n_cells; ++i)
    cells.push_back(plx::async([&, i] {
      for (int step = 0; step < n_steps; ++step) {
        next[i] = 0.5 * now[i] + 0.25 * (now[(i + 1) % n_cells] + now[(i + n_cells - 1) % n_cells]);
        step_is_done.arrive_and_wait();
      }
    }));
  for (auto& cell : cells) cell.get();
  return now[0];
}

int main() {
  plx::runtime rt;
  rt.run([] {
    std::printf("after one step %g, after four %g\n", smooth(16, 1), smooth(16, 4));

    plx::counting_semaphore<> seats(2);
    std::atomic<int> inside{0}, most{0};
    std::vector<plx::future<void>> guests;
    for (int i = 0; i < 20; ++i)
      guests.push_back(plx::async([&] {
        seats.acquire();
        for (int n = ++inside, m = most; n > m && !most.compare_exchange_weak(m, n);) continue;
        plx::this_thread::yield();
        --inside;
        seats.release();
      }));
    for (auto& guest : guests) guest.get();
    std::printf("never more than two inside: %s\n", most <= 2 ? "yes" : "no");

    plx::shared_mutex guard;
    int price = 1;  // guarded by `guard`
    auto reader = plx::async([&] {
      plx::shared_lock lock(guard);  // shared with other readers
      return price == 1 || price == 2;
    });
    {
      plx::unique_lock lock(guard);  // exclusive
      price = 2;
    }
    const bool whole = reader.get();
    std::printf("the reader saw a valid price: %s\n", whole ? "yes" : "no");

    plx::event rung;
    std::printf("rung within a millisecond: %s\n", rung.wait_for(1ms) ? "yes" : "no");
    plx::post([&rung] { rung.set(); });
    rung.wait();
    std::printf("rung: %s\n", rung.occurred() ? "yes" : "no");
  });
}

// Output:
//   after one step 512, after four 280
//   never more than two inside: yes
//   the reader saw a valid price: yes
//   rung within a millisecond: no
//   rung: yes
