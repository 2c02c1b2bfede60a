#include "rt/detail/task_cost.hpp"

#include <algorithm>
#include <memory>

#include "base/clock.hpp"
#include "probe/settings.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

namespace plx::detail {
namespace {

double measured() {
  constexpr int turns = 8, tasks = 2048;
  runtime alone({.workers = 1, .bind = false, .measure = std::make_shared<probe::settings>()});
  static const probe::name_id name = probe::register_name("empty task");
  return alone.run([] {
    double least = 1;
    for (int turn = 0; turn < turns; ++turn) {
      const ticks begin = now_ticks();
      task_group group;
      for (int i = 0; i < tasks; ++i) group.run(task_info{name}, [] {});
      group.wait();
      least = std::min(least, seconds(now_ticks() - begin) / tasks);
    }
    return least;
  });
}

}  // namespace

double task_cost_s() {
  static const double cost = measured();
  return cost;
}

probe::registration add_task_cost_counter(probe::counter_registry& registry) {
  return registry.add({"/scheduler{locality#0/total}/task-cost", "s",
                       "Making, measuring and ending a task that does nothing, on a worker alone"},
                      [cost = task_cost_s()] { return cost; });
}

}  // namespace plx::detail
