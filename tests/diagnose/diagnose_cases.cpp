// Programs that are slow on purpose, each in one way, and one that is not. test_diagnose.py lists what `parallax
// diagnose` must report for each. Usage: diagnose_cases CASE, with PLX_DIAGNOSE=1.
//
// The slowness of each follows from its structure, not from the machine, so that the cores may be shared with others.
// Tasks that must take a known time hold their worker in a sleep of the operating system.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "rt/async.hpp"
#include "rt/channel.hpp"
#include "rt/for_loop.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using std::chrono::milliseconds;

task_info named(const char* name) { return {probe::register_name(name)}; }

/// Computes until that much wall time has passed.
void compute(double s) {
  const ticks end = now_ticks() + ticks_from(s);
  while (now_ticks() < end) {
  }
}

/// Occupies the worker without computing, so that the time is the same if cores are shared with others.
void hold(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

/// Many independent tasks of a suitable length: nothing to report.
void healthy() {
  task_group g;
  for (int i = 0; i < 800; ++i) g.run(named("solve"), [] { compute(1e-3); });
  g.wait();
}

/// One task at a time, with workers for four: main() does the rest itself, and creates the tasks late.
void starved(runtime& rt) {
  for (int i = 0; i < 20; ++i) {
    rt.run(named("alone"), [] { hold(10e-3); });
    hold(10e-3);
  }
}

/// Each task needs the previous one.
void chain() {
  auto last = make_ready_future();
  for (int i = 0; i < 40; ++i) last = last.then(named("link"), [](future<void>) { hold(10e-3); });
  last.get();
}

/// A tree of tasks, each of which only creates the next two and waits for them.
void tiny_tree(int depth) {
  if (depth == 0) return;
  task_group g;
  for (int child = 0; child < 2; ++child) g.run(named("tiny"), [depth] { tiny_tree(depth - 1); });
  g.wait();
}

/// A million tasks that do almost nothing, created where they run: their cost is task management, independent of the
/// load on the machine. (Tasks that are created in one place and stolen one by one cost several times as much as local
/// ones because of cache misses; how much depends on the other users of the cores.)
void small_grain() { tiny_tree(19); }

/// All work is done under one lock, whose holder waits.
void lock() {
  static mutex m("accumulator");
  task_group g;
  for (int i = 0; i < 40; ++i)
    g.run(named("deposit"), [] {
      std::lock_guard guard(m);
      this_thread::sleep_for(milliseconds(10));
    });
  g.wait();
}

/// The same lock, held for a very short time.
void lock_for_short() {
  static mutex m("counter");
  [[maybe_unused]] static long n = 0;
  task_group g;
  for (int i = 0; i < 400; ++i)
    g.run(named("deposit"), [] {
      compute(1e-3);
      std::lock_guard guard(m);
      ++n;
    });
  g.wait();
}

/// One task that takes as long as all others together.
void imbalance() {
  task_group g;
  g.run(named("the long one"), [] { hold(0.6); });
  for (int i = 0; i < 40; ++i) g.run(named("a short one"), [] { hold(5e-3); });
  g.wait();
}

/// A serial part, then tasks for all workers.
void set_up() {
  async(named("set up"), [] { hold(0.4); }).get();
  task_group g;
  for (int i = 0; i < 40; ++i) g.run(named("solve"), [] { hold(10e-3); });
  g.wait();
}

/// Tasks bound to one worker: they wait there while the others are idle.
void latency() {
  task_group g;
  for (int i = 0; i < 400; ++i) {
    task_info info = named("bound");
    info.where.worker = 1;
    g.run(info, [] { hold(1e-3); });
  }
  g.wait();
}

/// Keeps the memory that each task allocated.
void memory() {
  std::vector<std::vector<char>> kept;
  for (int i = 0; i < 50; ++i) {
    task_group g;
    for (int k = 0; k < 4; ++k) g.run(named("step"), [] { compute(5e-3); });
    g.wait();
    kept.emplace_back(std::size_t{4} << 20, static_cast<char>(i));
  }
}

/// Needs the same memory, from the beginning.
void memory_at_once() {
  std::vector<char> all(std::size_t{200} << 20, 'x');
  for (int i = 0; i < 50; ++i) {
    task_group g;
    for (int k = 0; k < 4; ++k) g.run(named("step"), [] { compute(5e-3); });
    g.wait();
  }
  if (all[all.size() / 2] != 'x') std::abort();
}

/// Tasks read data that arrive slowly, by a blocking system call.
void io() {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  constexpr int messages = 200;
  std::thread sender([&] {
    for (int i = 0; i < messages; ++i) {
      std::this_thread::sleep_for(milliseconds(4));
      if (write(ends[1], "0123456789abcdef", 16) != 16) std::abort();
    }
  });
  task_group g;
  for (int i = 0; i < messages; ++i)
    g.run(named("read"), [&] {
      char text[16];
      if (read(ends[0], text, sizeof text) != sizeof text) std::abort();
    });
  g.wait();
  sender.join();
}

/// Tasks that sleep instead of waiting.
void sleeping() {
  for (int i = 0; i < 40; ++i) {
    compute(1e-3);
    this_thread::sleep_for(milliseconds(10));
  }
}

struct known_case {
  const char* name;
  unsigned workers;
  void (*run)();
  void (*run_outside)(runtime&) = nullptr;
};
constexpr known_case cases[] = {
    {"healthy", 2, healthy},
    {"starved", 4, nullptr, starved},
    {"chain", 4, chain},
    {"small_grain", 2, small_grain},
    {"lock", 4, lock},
    {"lock_for_short", 2, lock_for_short},
    {"imbalance", 4, imbalance},
    {"set_up", 4, set_up},
    {"latency", 4, latency},
    {"memory", 2, memory},
    {"memory_at_once", 2, memory_at_once},
    {"io", 2, io},
    {"sleeping", 4, sleeping},
};

}  // namespace

int main(int argc, char** argv) {
  runtime_options options = options_from_arguments(argc, argv);
  for (const known_case& c : cases) {
    if (argc != 2 || std::strcmp(argv[1], c.name) != 0) continue;
    options.workers = c.workers;
    runtime rt(options);
    if (c.run != nullptr)
      rt.run(named("main"), c.run);
    else
      c.run_outside(rt);
    return 0;
  }
  std::fprintf(stderr, "diagnose_cases: expected one of");
  for (const known_case& c : cases) std::fprintf(stderr, " %s", c.name);
  std::fprintf(stderr, "\n");
  return 2;
}
