// Everything is measured while it runs: tasks by name, cost by key, counters. Nothing was switched on for it.
#include <cstdio>

#include "probe/counter_registry.hpp"
#include "probe/recorder.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

namespace {

volatile double sink = 0;

void relax(std::uint64_t block) {
  for (std::uint64_t i = 0; i < 20'000 * (block + 1); ++i) sink = sink + 1.0;
}

}  // namespace

int main() {
  plx::runtime rt({.workers = 2});
  const auto name = plx::probe::register_name("relax");
  rt.run([name] {
    plx::task_group sweep;
    for (std::uint64_t block = 0; block < 8; ++block) sweep.run({name, block}, [block] { relax(block); });
    sweep.wait();
  });

  for (const auto& task : rt.recorder().tasks())
    if (task.name == "relax") std::printf("%s: %llu calls\n", task.name.data(), (unsigned long long)task.calls);
  const auto costs = rt.recorder().costs();
  std::printf("block 7 cost more than block 0: %s\n", costs[7].seconds > costs[0].seconds ? "yes" : "no");
  for (const auto& counter : rt.counters().query("/threads{locality#0/total}/count/*").value())
    std::printf("%s = %g\n", counter.name.c_str(), counter.value);
}
