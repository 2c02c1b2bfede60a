// Programs whose virtual speed-ups are known, and whose tasks can really be made faster: check_speedup.py compares
// both. Usage: speedup_cases CASE [workers=N] [less=TYPE,PERCENT] [scale=S] [steps=N], with --plx:speedup=1. Prints the
// median time of a step in seconds.
//
// Tasks hold their worker in a sleep of the operating system, so that the times follow from the structure, not from the
// number of cores.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "control/progress.hpp"
#include "rt/async.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using std::chrono::duration;

struct changes {
  unsigned workers = 2;
  std::string faster;
  double factor = 1;
  double scale = 1;
  int steps = 200;
} change;

task_info named(const char* name) { return {probe::register_name(name)}; }

/// Occupies the worker of a task of that type.
void hold(std::string_view type, double ms) {
  std::this_thread::sleep_for(
      duration<double>((type == change.faster ? change.factor : 1.0) * change.scale * ms * 1e-3));
}

/// Two pipelines in lockstep, of which the longer one matters, then a serial part.
void lockstep() {
  auto beside = async(named("shorter"), [] { hold("shorter", 2); });
  async(named("longer"), [] { hold("longer", 4); }).get();
  beside.get();
  async(named("both"), [] { hold("both", 1); }).get();
}

/// Each task needs the previous one, and may run on another worker.
void chain() {
  auto last = async(named("first"), [] { hold("first", 1); });
  for (int i = 0; i < 3; ++i) last = last.then(named("link"), [](future<void>) { hold("link", 1); });
  last.get();
}

/// One type that runs beside nothing, one beside which the other worker is idle for half of the time, and one that runs
/// on all workers.
void mixed() {
  async(named("alone"), [] { hold("alone", 2); }).get();
  task_group g;
  for (int i = 0; i < 2; ++i) g.run(named("everywhere"), [] { hold("everywhere", 3); });
  g.wait();
}

/// Beside a task that waits for a timer, which nothing makes faster.
void timer() {
  auto beside = async(named("beside"), [] { hold("beside", 2); });
  async(named("sleeper"), [] { this_thread::sleep_for(duration<double>(change.scale * 4e-3)); }).get();
  beside.get();
}

struct known_case {
  const char* name;
  void (*step)();
};
constexpr known_case cases[] = {{"lockstep", lockstep}, {"chain", chain}, {"mixed", mixed}, {"timer", timer}};

bool read(std::string_view argument) {
  const std::size_t at = argument.find('=');
  if (at == std::string_view::npos) return false;
  const std::string key(argument.substr(0, at)), value(argument.substr(at + 1));
  if (key == "workers") {
    change.workers = static_cast<unsigned>(std::atoi(value.c_str()));
  } else if (key == "less") {
    const std::size_t comma = value.find(',');
    if (comma == std::string::npos) return false;
    change.faster = value.substr(0, comma);
    change.factor = 1 - 0.01 * std::atof(value.c_str() + comma + 1);
  } else if (key == "scale") {
    change.scale = std::atof(value.c_str());
  } else if (key == "steps") {
    change.steps = std::max(std::atoi(value.c_str()), 1);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  runtime_options options = options_from_arguments(argc, argv);
  bool valid = argc >= 2;
  for (int i = 2; i < argc; ++i) valid = read(argv[i]) && valid;
  for (const known_case& c : cases) {
    if (!valid || std::strcmp(argv[1], c.name) != 0) continue;
    options.workers = change.workers;
    options.bind = false;
    runtime rt(options);
    std::vector<double> steps_s(static_cast<std::size_t>(change.steps));
    rt.run(named("main"), [&] {
      for (double& s : steps_s) {
        const auto begin = std::chrono::steady_clock::now();
        c.step();
        s = duration<double>(std::chrono::steady_clock::now() - begin).count();
        progress("step");
      }
    });
    std::nth_element(steps_s.begin(), steps_s.begin() + change.steps / 2, steps_s.end());
    std::printf("%.9f\n", steps_s[steps_s.size() / 2]);
    return 0;
  }
  std::fprintf(stderr, "speedup_cases: expected [workers=N] [less=TYPE,PERCENT] [scale=S] [steps=N] after one of");
  for (const known_case& c : cases) std::fprintf(stderr, " %s", c.name);
  std::fprintf(stderr, "\n");
  return 2;
}
