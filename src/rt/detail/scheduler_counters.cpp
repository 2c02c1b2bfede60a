#include "rt/detail/scheduler_counters.hpp"

#include <algorithm>
#include <string>

#include "rt/detail/scheduler.hpp"

namespace plx::detail {
namespace {

struct member_counter {
  const char* name;
  const char* help;
  owned_count worker::*count;
};

constexpr member_counter per_worker[] = {
    {"count/spawned", "tasks put into the worker's own deque", &worker::spawned},
    {"count/scheduled", "tasks run by the worker's loop", &worker::executed},
    {"count/taken-back", "children called by the parent that waited for them", &worker::taken_back},
    {"count/suspended", "times a task gave its worker away", &worker::suspended},
    {"count/resumed", "times a suspended task went on", &worker::resumed},
    {"count/steals", "tasks taken from another worker's deque", &worker::steals},
    {"count/failed-steals", "attempts that another thief or the owner won", &worker::failed_steals},
    {"count/sleeps", "times the worker went to sleep for want of work", &worker::sleeps},
};

double total_of(const scheduler& s, owned_count worker::*count) {
  double sum = 0;
  for (unsigned i = 0; i < s.worker_count(); ++i) sum += static_cast<double>((s.worker_at(i).*count).get());
  return sum;
}

double queued(const scheduler& s) {
  double sum = 0;
  for (unsigned i = 0; i < s.worker_count(); ++i)
    sum += static_cast<double>(std::max<std::int64_t>(s.worker_at(i).deque.size(), 0));
  return sum;
}

}  // namespace

std::vector<probe::registration> add_scheduler_counters(probe::counter_registry& registry, const scheduler& s) {
  std::vector<probe::registration> all;
  for (const member_counter& m : per_worker) {
    for (unsigned i = 0; i < s.worker_count(); ++i)
      all.push_back(
          registry.add({"/threads{locality#0/worker-thread#" + std::to_string(i) + "}/" + m.name, "1", m.help, true},
                       [&w = s.worker_at(i), c = m.count] { return (w.*c).get(); }));
    all.push_back(registry.add({std::string("/threads{locality#0/total}/") + m.name, "1", m.help, true},
                               [&s, c = m.count] { return total_of(s, c); }));
  }
  all.push_back(registry.add({"/scheduler{locality#0/total}/queue/length", "1", "tasks in the workers' deques now"},
                             [&s] { return queued(s); }));
  all.push_back(registry.add({"/scheduler{locality#0/total}/queue/injected", "1",
                              "tasks from outside and yielded ones that wait for a worker now"},
                             [&s] { return s.injected(); }));
  all.push_back(registry.add({"/scheduler{locality#0/total}/tasks/suspended", "1", "tasks that wait now"},
                             [&s] { return s.suspended_tasks(); }));
  all.push_back(registry.add({"/scheduler{locality#0/total}/stacks/made", "1", "stacks made so far; they are reused"},
                             [&s] { return s.stacks().total(); }));
  all.push_back(registry.add({"/scheduler{locality#0/total}/stacks/bytes", "B", "virtual memory of each stack"},
                             [&s] { return s.stacks().stack_bytes(); }));
  all.push_back(registry.add({"/scheduler{locality#0/total}/stacks/warm", "1",
                              "stacks of no worker and no task that keep the memory they touched"},
                             [&s] { return s.warm_stacks(); }));
  all.push_back(
      registry.add({"/scheduler{locality#0/total}/stacks/cold", "1", "stacks of no task that gave their memory back"},
                   [&s] { return s.cold_stacks(); }));
  return all;
}

}  // namespace plx::detail
