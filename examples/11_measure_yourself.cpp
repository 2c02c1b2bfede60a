// User-defined counters next to those of the runtime: a number that the program keeps anyway gets a name, and is read
// on request. Patterns read many at once.
#include <atomic>
#include <cstdio>

#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

int main(int argc, char** argv) {
  plx::runtime_options options = plx::options_from_arguments(argc, argv);  // --plx:print-counter=/walker/count/walks
  options.workers = 2;
  plx::runtime rt(options);

  std::atomic<int> walks{0};  // kept by the program
  const auto kept =
      rt.counters().add({"/walker/count/walks", "1", "Random walks that ended"}, [&walks] { return walks.load(); });

  rt.run([&walks] {
    static const auto walk = plx::probe::register_name("walk");
    plx::task_group walkers;
    for (std::uint64_t walker = 0; walker < 8; ++walker)
      walkers.run({walk, walker}, [&walks, walker] {
        std::uint64_t random = walker + 1;
        for (int step = 0; step < 10'000; ++step) random = random * 6364136223846793005u + 1442695040888963407u;
        walks += random != 0;
      });
    walkers.wait();
  });

  // One counter by name; without an instance in braces, the total of all workers.
  const auto value_of = [&rt](const char* name) { return rt.counters().query(name).value().at(0).value; };
  std::printf("walks: %g\n", value_of("/walker/count/walks"));
  std::printf("tasks measured, at least: %s\n", value_of("/threads/count/tasks") >= 8 ? "8" : "fewer");

  // Many counters by a pattern: the busy time of each worker.
  double busy_s = 0;
  const auto workers = rt.counters().query("/threads{locality#0/worker-thread#*}/time/exec").value();
  for (const auto& worker : workers) busy_s += worker.value;
  std::printf("%zu workers were busy: %s\n", workers.size(), busy_s > 0 ? "yes" : "no");

  // The profile, most expensive first, and the cost of the measurement.
  for (const auto& task : rt.recorder().tasks())
    if (task.name == "walk")
      std::printf("%.*s: %d calls, mean above zero: %s\n", static_cast<int>(task.name.size()), task.name.data(),
                  static_cast<int>(task.calls), task.mean_s > 0 ? "yes" : "no");
  std::printf("measured at less than 5 %% of the time: %s\n", rt.recorder().measurement_cost() < 0.05 ? "yes" : "no");

  // An unknown name is an error that suggests the nearest existing one.
  const auto unknown = rt.counters().query("/walker/count/wlaks");
  std::printf("unknown: %s\n", unknown.has_value() ? "found" : unknown.error().message.c_str());
}

// Output:
//   walks: 8
//   tasks measured, at least: 8
//   2 workers were busy: yes
//   walk: 8 calls, mean above zero: yes
//   measured at less than 5 % of the time: yes
//   unknown: no counter matches '/walker/count/wlaks'; did you mean '/walker/count/walks'?
