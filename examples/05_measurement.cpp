// Every runtime measures itself. A task has a name and may have a key, the object that it works on. Statistics per
// name, cost per key and counters are always available; a trace is recorded if enabled.
#include <cstdio>

#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "trace/profile.hpp"
#include "trace/tools/trace_export.hpp"

int main(int argc, char** argv) {
  plx::runtime rt(plx::options_from_arguments(argc, argv));  // --plx:diagnose, --plx:print-counter=..., --plx:serve=1
  rt.recorder().trace(true);

  static const auto relax = plx::probe::register_name("relax block");
  rt.run([] {
    for (int step = 0; step < 4; ++step) {
      plx::task_group blocks;
      for (std::uint64_t block = 0; block < 16; ++block)
        blocks.run({relax, block}, [block] {
          volatile double x = 1;
          for (std::uint64_t i = 0; i < 1000 * (block + 1); ++i) x = 0.5 * (x + 2 / x);
        });
      blocks.wait();
    }
  });

  for (const auto& task : rt.recorder().tasks())
    if (task.id == relax) std::printf("%s: %d calls\n", std::string(task.name).c_str(), static_cast<int>(task.calls));

  const auto costs = rt.recorder().costs();  // seconds and calls per key: the input of load balancing
  std::printf("costs of %zu blocks, %d calls each\n", costs.size(), static_cast<int>(costs[7].calls));

  for (const auto& counter : rt.counters().query("/scheduler/tasks/suspended").value())
    std::printf("%s = %g\n", counter.name.c_str(), counter.value);

  // For a spreadsheet, and for ui.perfetto.dev.
  const bool written = write_profile_csv(rt.recorder(), "05_profile.csv").has_value() &&
                       write_json_trace(rt.recorder().collect_trace(), "05_trace.json").has_value();
  std::printf("profile and trace: %s\n", written ? "written" : "not written");
}

// Output:
//   relax block: 64 calls
//   costs of 16 blocks, 4 calls each
//   /scheduler{locality#0/total}/tasks/suspended = 0
//   profile and trace: written
