// The synchronization types of the standard library for tasks, and channels. A task that waits gives up its worker, so
// a few workers serve any number of tasks that wait for each other. External threads may take part.
#include <cstdio>

#include "rt/channel.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"

int main() {
  constexpr int jobs = 100, consumers = 4;
  plx::runtime rt;
  rt.run([] {
    plx::channel<int> queue(8);  // send() waits while eight jobs are queued
    plx::mutex guard;
    plx::condition_variable progress;
    int done = 0, sum = 0;  // guarded by `guard`
    plx::latch ended(consumers);

    for (int c = 0; c < consumers; ++c)
      plx::post([&] {
        while (auto job = queue.receive()) {  // nullopt once the channel is closed and empty
          plx::lock_guard lock(guard);
          sum += *job;
          if (++done == jobs / 2) progress.notify_all();
        }
        ended.count_down();
      });
    plx::post([&queue] {
      for (int job = 1; job <= jobs; ++job) queue.send(job);
      queue.close();
    });

    {
      plx::unique_lock lock(guard);
      progress.wait(lock, [&done] { return done >= jobs / 2; });
      std::printf("half of the jobs are done\n");
    }
    ended.wait();
    std::printf("all jobs: %d, their sum: %d\n", done, sum);
  });
}

// Output:
//   half of the jobs are done
//   all jobs: 100, their sum: 5050
