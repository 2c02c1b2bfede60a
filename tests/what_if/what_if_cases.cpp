// Programs whose changes `parallax what-if` predicts, and which can really be changed: check_what_if.py compares both.
// Usage: what_if_cases CASE [workers=N] [half=TYPE] [locks=0] [scale=S], with PLX_TRACE=1.
//
// Tasks hold their worker in a sleep of the operating system, so that the times follow from the structure, not from the
// number of cores.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "rt/async.hpp"
#include "rt/dataflow.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"
#include "rt/when_all.hpp"

namespace {

using namespace plx;
using std::chrono::duration;

struct changes {
  unsigned workers = 2;
  std::string half;
  bool locks = true;
  double scale = 1;
} change;

task_info named(const char* name) { return {probe::register_name(name)}; }

double length(std::string_view type, double ms) { return (type == change.half ? 0.5 : 1.0) * change.scale * ms * 1e-3; }

/// Occupies the worker of a task of that type.
void hold(std::string_view type, double ms) { std::this_thread::sleep_for(duration<double>(length(type, ms))); }

/// Rounds of independent tasks of two types, each round followed by a serial task.
void fork_join() {
  for (int round = 0; round < 4; ++round) {
    task_group g;
    for (int i = 0; i < 12; ++i) {
      g.run(named("long"), [] { hold("long", 12); });
      g.run(named("short"), [] { hold("short", 5); });
    }
    g.wait();
    async(named("reduce"), [] { hold("reduce", 15); }).get();
  }
}

/// Each task needs the previous one; beside it, work that is not on the critical path.
void chain() {
  task_group beside;
  for (int i = 0; i < 16; ++i) beside.run(named("beside"), [] { hold("beside", 12); });
  auto last = make_ready_future();
  for (int i = 0; i < 30; ++i)
    last = last.then(i % 2 == 0 ? named("even") : named("odd"),
                     [i](future<void>) { i % 2 == 0 ? hold("even", 16) : hold("odd", 8); });
  last.get();
  beside.wait();
}

/// A grid in which each cell needs its left and its upper neighbour.
void wavefront() {
  constexpr int n = 12;
  std::vector<shared_future<void>> row(n, make_ready_future().share());
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) {
      const auto left = k == 0 ? make_ready_future().share() : row[k - 1];
      const bool heavy = k % 4 == 0;
      row[k] = dataflow(
                   heavy ? named("heavy") : named("light"),
                   [heavy](shared_future<void>, shared_future<void>) { heavy ? hold("heavy", 12) : hold("light", 5); },
                   left, row[k])
                   .share();
    }
  row[n - 1].get();
}

/// One long task beside many short ones.
void imbalance() {
  task_group g;
  g.run(named("giant"), [] { hold("giant", 240); });
  for (int i = 0; i < 40; ++i) g.run(named("small"), [] { hold("small", 9); });
  g.wait();
}

/// Some of the work of each task needs a lock.
void lock() {
  static mutex m("accumulator");
  task_group g;
  for (int i = 0; i < 48; ++i)
    g.run(named("deposit"), [] {
      hold("deposit", 8);
      std::unique_lock guard(m, std::defer_lock);
      if (change.locks) guard.lock();
      hold("deposit", 6);
    });
  g.wait();
}

/// A lock whose holder is suspended.
void lock_asleep() {
  static mutex m("store");
  task_group g;
  for (int i = 0; i < 40; ++i)
    g.run(named("write"), [] {
      {
        std::unique_lock guard(m, std::defer_lock);
        if (change.locks) guard.lock();
        this_thread::sleep_for(duration<double>(change.scale * 5e-3));
      }
      hold("write", 10);
    });
  g.wait();
}

/// Tasks that create tasks and wait for them.
void tree(int depth) {
  if (depth == 0) return hold("leaf", 9);
  hold("node", 3);
  const char* children = depth == 1 ? "leaf" : "node";
  auto left = async(named(children), [depth] { tree(depth - 1); });
  auto right = async(named(children), [depth] { tree(depth - 1); });
  left.get();
  right.get();
}
void nested() {
  async(named("node"), [] { tree(5); }).get();
}

/// Two stages with a sleep between them, as of input and output.
void input_output() {
  std::vector<future<void>> all;
  for (int i = 0; i < 24; ++i)
    all.push_back(async(named("fetch"), [] {
                    hold("fetch", 4);
                    this_thread::sleep_for(duration<double>(change.scale * 30e-3));
                    hold("fetch", 2);
                  }).then(named("decode"), [](future<void>) { hold("decode", 10); }));
  for (auto& f : all) f.get();
}

struct known_case {
  const char* name;
  void (*run)();
};
constexpr known_case cases[] = {
    {"fork_join", fork_join}, {"chain", chain},
    {"wavefront", wavefront}, {"imbalance", imbalance},
    {"lock", lock},           {"lock_asleep", lock_asleep},
    {"nested", nested},       {"input_output", input_output},
};

bool read(std::string_view argument) {
  const std::size_t at = argument.find('=');
  if (at == std::string_view::npos) return false;
  const std::string key(argument.substr(0, at)), value(argument.substr(at + 1));
  if (key == "workers")
    change.workers = static_cast<unsigned>(std::atoi(value.c_str()));
  else if (key == "half")
    change.half = value;
  else if (key == "locks")
    change.locks = value != "0";
  else if (key == "scale")
    change.scale = std::atof(value.c_str());
  else
    return false;
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
    const auto begin = std::chrono::steady_clock::now();
    rt.run(named("main"), c.run);
    std::printf("%.6f\n", duration<double>(std::chrono::steady_clock::now() - begin).count());
    return 0;
  }
  std::fprintf(stderr, "what_if_cases: expected [workers=N] [half=TYPE] [locks=0] [scale=S] after one of");
  for (const known_case& c : cases) std::fprintf(stderr, " %s", c.name);
  std::fprintf(stderr, "\n");
  return 2;
}
