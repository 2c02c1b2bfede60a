// The standard's synchronization types for tasks: who waits gives its worker away, no thread blocks.
#include <cstdio>

#include "rt/channel.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

int main() {
  plx::runtime rt({.workers = 2});
  rt.run([] {
    plx::channel<int> numbers(4);  // at most four wait in it
    plx::latch producers(3);
    plx::mutex total_mutex;
    long total = 0;

    plx::task_group tasks;
    for (int p = 0; p < 3; ++p)
      tasks.run([&, p] {
        for (int i = p; i < 300; i += 3) numbers.send(i);
        producers.count_down();
      });
    for (int c = 0; c < 2; ++c)
      tasks.run([&] {
        while (auto n = numbers.receive()) {
          plx::lock_guard lock(total_mutex);
          total += *n;
        }
      });
    producers.wait();
    numbers.close();
    tasks.wait();
    std::printf("total %ld\n", total);
  });
}
