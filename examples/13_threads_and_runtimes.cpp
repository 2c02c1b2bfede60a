// A runtime next to the program's own threads: they submit work and wait for it; a second runtime runs slow work; and a
// poller checks whether an external operation has completed.
#include <atomic>
#include <cstdio>
#include <thread>

#include "rt/latch.hpp"
#include "rt/runtime.hpp"

int main() {
  plx::runtime compute({.workers = 2});
  plx::runtime files({.workers = 1});  // slow work that must not delay the other tasks

  // Any thread can submit work, with or without waiting for it.
  int from_thread = 0;
  plx::latch both(2);
  std::thread external([&] {
    from_thread = compute.run([] { return plx::async([] { return 20; }).get() + 1; });
    compute.post([&both] { both.count_down(); });
    files.post([&both] { both.count_down(); });
    both.wait();  // synchronization works between tasks and threads
  });
  external.join();
  std::printf("the thread got %d\n", from_thread);

  // A task created by a task stays in the same runtime.
  std::printf("workers here %u, there %u\n", compute.worker_count(), files.worker_count());

  // An external operation (of a network card, a GPU) completes. The poller notices it and completes a promise.
  std::atomic<bool> arrived{false};
  struct mailbox {
    std::atomic<bool>& arrived;
    plx::promise<int> letter;
    bool delivered = false;
  } box{arrived, {}};
  const auto poller = compute.add_poller(
      [](void* arg) {
        auto& m = *static_cast<mailbox*>(arg);
        if (m.delivered || !m.arrived) return m.delivered ? plx::poll_result::idle : plx::poll_result::pending;
        m.delivered = true;
        m.letter.set_value(7);
        return plx::poll_result::progressed;
      },
      &box);
  std::thread outside([&arrived] { arrived = true; });
  const int letter = compute.run([&box] { return box.letter.get_future().get(); });
  outside.join();
  compute.remove_poller(poller);
  std::printf("the letter says %d\n", letter);

  // The index of the worker is useful for per-worker data; other threads have none.
  const bool inside = compute.run([] { return plx::worker_index().has_value(); });
  std::printf("on a worker: %s, here: %s\n", inside ? "yes" : "no", plx::worker_index() ? "yes" : "no");
}

// Output:
//   the thread got 21
//   workers here 2, there 1
//   the letter says 7
//   on a worker: yes, here: no
