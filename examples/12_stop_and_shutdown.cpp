// Ending: tasks that are asked to stop, a runtime that says who waits on what, and one that is destroyed while somebody
// still waits for what will never come.
#include <chrono>
#include <cstdio>

#include "base/log.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"

using namespace std::chrono_literals;

int main() {
  // The report of abandoned tasks goes to the log, line by line; a program says where that is.
  plx::log_to_function(
      [](void*, plx::log_level, std::string_view line) {
        if (line.find("waits on latch") != line.npos) std::printf("log: somebody still waits on a latch\n");
      },
      nullptr, plx::log_level::error);

  plx::latch nobody_counts_down(1);
  {
    plx::runtime rt({.shutdown_deadline_s = 0.01});
    rt.run([] {
      int beats = 0;
      {
        plx::jthread heart([&beats](plx::stop_token stop) {
          plx::stop_callback said(stop, [] { std::printf("asked to stop\n"); });
          while (!stop.stop_requested()) {
            ++beats;
            plx::this_thread::sleep_for(100us);
          }
        });
        plx::this_thread::sleep_for(2ms);
      }  // the destructor asks it to stop, and waits for it
      std::printf("it beat: %s\n", beats > 0 ? "yes" : "no");
    });

    rt.post([&nobody_counts_down] { nobody_counts_down.wait(); });
    std::string waits;
    while ((waits = rt.explain_waits()).empty()) plx::this_thread::yield();  // until it has begun to wait
    std::printf("waits on a latch: %s\n", waits.find("latch") != waits.npos ? "yes" : "no");
  }  // the runtime waits for what can still go on, then gives the others up with a report
  std::printf("ended\n");
}

// Output:
//   asked to stop
//   it beat: yes
//   waits on a latch: yes
//   log: somebody still waits on a latch
//   ended
