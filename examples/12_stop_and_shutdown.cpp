// Shutdown: a task that is requested to stop, a report of what suspended tasks wait for, and a runtime that is
// destroyed while a task waits for an event that never happens.
#include <chrono>
#include <cstdio>

#include "base/log.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"

using namespace std::chrono_literals;

int main() {
  // The report of abandoned tasks goes to the log, line by line; the program chooses the destination.
  plx::log_to_function(
      [](void*, plx::log_level, std::string_view line) {
        if (line.find("waits on latch") != line.npos) std::printf("log: a task still waits on a latch\n");
      },
      nullptr, plx::log_level::error);

  plx::latch nobody_counts_down(1);
  {
    plx::runtime rt({.shutdown_deadline_s = 0.01});
    rt.run([] {
      int beats = 0;
      {
        plx::jthread heart([&beats](plx::stop_token stop) {
          plx::stop_callback on_stop(stop, [] { std::printf("stop requested\n"); });
          while (!stop.stop_requested()) {
            ++beats;
            plx::this_thread::sleep_for(100us);
          }
        });
        plx::this_thread::sleep_for(2ms);
      }  // the destructor requests a stop, and waits
      std::printf("beats counted: %s\n", beats > 0 ? "yes" : "no");
    });

    rt.post([&nobody_counts_down] { nobody_counts_down.wait(); });
    std::string waits;
    while ((waits = rt.explain_waits()).empty()) plx::this_thread::yield();  // until the task waits
    std::printf("waits on a latch: %s\n", waits.find("latch") != waits.npos ? "yes" : "no");
  }  // the runtime waits for tasks that can still run, then abandons the others with a report
  std::printf("ended\n");
}

// Output:
//   stop requested
//   beats counted: yes
//   waits on a latch: yes
//   log: a task still waits on a latch
//   ended
