#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/sample/sampler.hpp"
#include "probe/settings.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/explain/explain.hpp"
#include "rt/measure/scheduler_counters.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

namespace plx::detail {
namespace {

struct member_counter {
  const char* name;
  const char* help;
  owned_count worker::*count;
};

constexpr member_counter per_worker[] = {
    {"count/spawned", "Tasks put into the worker's own deque, including resumed ones", &worker::spawned},
    {"count/scheduled", "Tasks run by the worker's loop", &worker::executed},
    {"count/run-inline", "Tasks run inline by the task that waited for them", &worker::ran_inline},
    {"count/suspended", "Times a task suspended", &worker::suspended},
    {"count/resumed", "Times a suspended task resumed", &worker::resumed},
    {"count/yields", "Times a task yielded", &worker::yields},
    {"count/steals", "Tasks taken from another worker's deque", &worker::steals},
    {"count/failed-steals", "Attempts to steal that another thief or the owner won", &worker::failed_steals},
    {"count/sleeps", "Times the worker slept because it found no work", &worker::sleeps},
    {"count/idle-periods", "Times the worker had no task for long enough to sleep; naps until the next task are one",
     &worker::idle_periods},
    {"count/poller-calls", "Calls of pollers", &worker::poller_calls},
    {"count/poller-progress", "Rounds of poller calls in which an operation had completed", &worker::poller_progress},
};

struct scheduler_counter {
  const char* name;
  const char* unit;
  const char* help;
  double (*value)(const scheduler&);
  bool monotonic = false;
};

double length_of(const worker& w) { return static_cast<double>(std::max<std::int64_t>(w.deque.size(), 0)); }

double queued(const scheduler& s) {
  double sum = 0;
  for (unsigned i = 0; i < s.worker_count(); ++i) sum += length_of(s.worker_at(i));
  return sum;
}

double pending(const scheduler& s) {
  return queued(s) + static_cast<double>(s.injected()) + static_cast<double>(s.placed());
}
double suspended(const scheduler& s) { return static_cast<double>(s.suspended_tasks()); }
double active(const scheduler& s) { return s.active_workers(); }

// The values are not read at one instant, so the difference may be negative: it is clamped to 0.
double staged(const scheduler& s) { return std::max(0.0, pending(s) - static_cast<double>(s.ready_again())); }

constexpr scheduler_counter of_scheduler[] = {
    {"queue/length", "1", "Tasks in the workers' deques now", queued},
    {"queue/injected", "1", "Tasks in the injection queue now: from external threads, or yielded",
     [](const scheduler& s) { return static_cast<double>(s.injected()); }},
    {"queue/placed", "1", "Ready tasks with a priority or a fixed worker, queued now",
     [](const scheduler& s) { return static_cast<double>(s.placed()); }},
    {"tasks/pending", "1", "Tasks that are ready and wait for a worker now, new or resumed", pending},
    {"tasks/staged", "1", "Pending tasks that have not started", staged},
    {"tasks/active", "1", "Workers that run a task now, or are about to", active},
    {"tasks/suspended", "1", "Started tasks that wait now, including resumed ones that wait for a worker", suspended},
    {"tasks/ready-again", "1", "Resumed tasks that wait for a worker; reading it visits every stack",
     [](const scheduler& s) { return static_cast<double>(s.ready_again()); }},
    {"utilization/instantaneous", "1", "Share of the workers that run a task now",
     [](const scheduler& s) { return active(s) / s.worker_count(); }},
    {"worker-cap", "1", "Workers that take tasks now", [](const scheduler& s) { return double(s.worker_cap()); }},
    {"workers/parked", "1", "Workers above the cap that sleep now",
     [](const scheduler& s) { return double(s.parked_workers()); }},
    {"processors", "1", "Processors that the workers may use; 0 if unknown",
     [](const scheduler& s) { return double(s.processors()); }},
    {"pollers/count", "1", "Registered pollers now", [](const scheduler& s) { return double(s.pollers()); }},
    {"stacks/in-use", "1", "Stacks with a task on them, running or suspended",
     [](const scheduler& s) { return suspended(s) + active(s); }},
    {"stacks/made", "1", "Stacks created so far; they are reused",
     [](const scheduler& s) { return static_cast<double>(s.stacks().total()); }, true},
    {"stacks/bytes", "bytes", "Virtual memory of each stack",
     [](const scheduler& s) { return static_cast<double>(s.stacks().stack_bytes()); }},
    {"stacks/warm", "1", "Unused stacks that keep the memory they touched",
     [](const scheduler& s) { return double(s.warm_stacks()); }},
    {"stacks/cold", "1", "Unused stacks that returned their memory",
     [](const scheduler& s) { return double(s.cold_stacks()); }},
};

struct thread_counter {
  const char* name;
  const char* unit;
  const char* help;
  double probe::thread_usage::*value;
};

constexpr thread_counter of_threads[] = {
    {"context-switches/voluntary", "1", "Times the worker's thread gave up its core",
     &probe::thread_usage::voluntary_switches},
    {"context-switches/involuntary", "1", "Times the worker's thread lost its core to another thread",
     &probe::thread_usage::involuntary_switches},
    {"time/processor", "s", "Time of the worker's thread on a core", &probe::thread_usage::processor_s},
    {"time/waiting-for-processor", "s", "Time in which the worker's thread was ready but had no core",
     &probe::thread_usage::waiting_s},
};

double usage_of(const worker& w, double probe::thread_usage::*value) {
  for (;;) {
    const int id = w.thread_id.load(std::memory_order_acquire);  // pairs with the release in end_of_thread()
    if (id == 0) return 0;                                       // it has not started
    if (id == worker::thread_has_ended) {
      if (w.last_usage == nullptr) throw std::runtime_error("the worker's thread has ended");
      return *w.last_usage.*value;
    }
    const auto usage = probe::usage_of_thread(id);
    if (usage) return *usage.*value;
    if (w.thread_id.load(std::memory_order_acquire) == id) throw std::runtime_error(usage.error().message);
  }
}

class adder {
 public:
  adder(probe::counter_registry& r, const scheduler& s) : registry_(r), scheduler_(s) {}

  /// One counter per worker, and their sum.
  template <class F>
  void per_worker_and_sum(const char* name, const char* unit, const char* help, F of) {
    for (unsigned i = 0; i < scheduler_.worker_count(); ++i)
      add({fmt::format("/threads{{{}/worker-thread#{}}}/{}", here_, i, name), unit, help, true},
          [&w = scheduler_.worker_at(i), of] { return of(w); });
    add({fmt::format("/threads{{{}/total}}/{}", here_, name), unit, help, true}, [&s = scheduler_, of] {
      double sum = 0;
      for (unsigned i = 0; i < s.worker_count(); ++i) sum += of(s.worker_at(i));
      return sum;
    });
  }
  void workers();
  void whole();

  std::vector<probe::registration> added;

 private:
  template <class F>
  void add(probe::counter_info info, F f) {
    added.push_back(registry_.add(std::move(info), std::move(f)));
  }
  probe::counter_registry& registry_;
  const scheduler& scheduler_;
  const std::string here_ = registry_.locality_name();
};

void adder::workers() {
  for (const member_counter& m : per_worker)
    per_worker_and_sum(m.name, "1", m.help,
                       [c = m.count](const worker& w) { return static_cast<double>((w.*c).get()); });
  for (unsigned i = 0; i < scheduler_.worker_count(); ++i) {
    const worker& w = scheduler_.worker_at(i);
    add({fmt::format("/scheduler{{{}/worker-thread#{}}}/queue/length", here_, i), "1",
         "Tasks in the worker's deque now"},
        [&w] { return length_of(w); });
    add({fmt::format("/scheduler{{{}/worker-thread#{}}}/queue/placed", here_, i), "1",
         "Ready tasks fixed to this worker, queued now"},
        [&w] { return w.inbox.size(); });
  }
#if defined(__linux__)
  if (scheduler_.deterministic()) return;  // all workers share one thread
  for (const thread_counter& t : of_threads)
    per_worker_and_sum(t.name, t.unit, t.help, [v = t.value](const worker& w) { return usage_of(w, v); });
#endif
}

void adder::whole() {
  for (const scheduler_counter& c : of_scheduler)
    add({fmt::format("/scheduler{{{}/total}}/{}", here_, c.name), c.unit, c.help, c.monotonic},
        [&s = scheduler_, value = c.value] { return value(s); });
  add({fmt::format("/runtime{{{}/total}}/uptime", here_), "s", "Time since the counters of this runtime were created",
       true},
      [begin = now_ticks()] { return seconds(now_ticks() - begin); });
}

}  // namespace

std::vector<probe::registration> add_scheduler_counters(probe::counter_registry& registry, scheduler& s) {
  s.keep_usage();
  adder a(registry, s);
  a.workers();
  a.whole();
  return std::move(a.added);
}

namespace {

double measured() {
  constexpr int turns = 8, tasks = 2048;
  const auto nothing = std::make_shared<probe::settings>();
  nothing->attach = false;
  runtime alone({.workers = 1, .bind = false, .measure = nothing});
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
                       "Time to create, measure, run and end an empty task on a single worker"},
                      [cost = task_cost_s()] { return cost; });
}

// ------------------------------------------------------------------------- flight recorder

#if defined(__clang__) || defined(__GNUC__)
#define PLX_READS_WHAT_MAY_CHANGE __attribute__((no_sanitize("thread")))
#else
#define PLX_READS_WHAT_MAY_CHANGE
#endif

namespace {

// The worker keeps running, and plain members are read: if its last boundary is the same before and after, the values
// are taken to belong together. A stronger guarantee would cost time in every task.
PLX_READS_WHAT_MAY_CHANGE probe::flight_now now_of(void* context, unsigned i) noexcept {
  const worker& w = static_cast<const scheduler*>(context)->worker_at(i);
  const volatile ticks& boundary = w.boundary;
  for (int tries = 0; tries < 100; ++tries) {
    const ticks before = boundary;
    if (w.looks_for_work.load(std::memory_order_relaxed)) return {};
    const probe::flight_now now{.busy = true, .name = w.info.name, .key = w.info.key, .since = before};
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (boundary == before) return now;
  }
  return {};
}

int index_here(void* context) noexcept {
  const worker* w = this_worker();
  return w != nullptr && &w->home == context ? static_cast<int>(w->index) : -1;
}

probe::stack_bounds task_stack(const worker& w) noexcept {
  const fiber* f = w.current;
  if (f == nullptr || f->memory.bottom == nullptr) return {};  // on the thread's own stack
  const auto low = reinterpret_cast<std::uintptr_t>(f->memory.bottom);
  return {low, low + f->memory.size};
}

probe::stack_bounds stack_here(void*) noexcept {
  const worker* w = this_worker();
  return w != nullptr ? task_stack(*w) : probe::stack_bounds{};
}

}  // namespace

flight_watch::flight_watch(const scheduler& workers, const probe::recorder& r, const probe::settings& s)
    : folder_(s.output) {
  const int request = s.flight_signal.empty() ? 0 : signal_named(s.flight_signal, "flight-signal");
  if (s.flight == 0) return;
  registration_.emplace(probe::flight_source{.rec = &r,
                                             .context = const_cast<scheduler*>(&workers),
                                             .now = now_of,
                                             .here = index_here,
                                             .stack = stack_here,
                                             .folder = folder_.c_str(),
                                             .seconds = s.flight_seconds});
  signals_.emplace(request);
}

// ------------------------------------------------------------------------- sampled stacks

namespace {

/// In a signal handler of the sampled thread: it reads what that thread writes.
probe::sampled_state sampled_now(const probe::sample_source& self) noexcept {
  using probe::sampled_activity;
  const worker* w = worker_of_this_thread;
  if (w == nullptr) return {.activity = sampled_activity::outside, .task = probe::unnamed, .stack = self.stack};
  probe::sampled_state now;
  now.activity = w->polling   ? sampled_activity::polling
                 : w->in_task ? sampled_activity::task
                              : sampled_activity::searching;
  now.stack = task_stack(*w);
  if (now.activity != sampled_activity::task) return now;
  now.task = w->info.name;
  // A task that runs in the frame of another one: the frames of the latter belong to its own samples.
  const auto outer = reinterpret_cast<std::uintptr_t>(w->outer);
  if (outer > now.stack.low && outer < now.stack.top) now.stack.top = outer;
  return now;
}

}  // namespace

std::vector<int> started_threads(const scheduler& workers) {
  std::vector<int> ids = workers.thread_ids();
  for (int i = 0; i < 1000 && std::find(ids.begin(), ids.end(), 0) != ids.end(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    ids = workers.thread_ids();
  }
  return ids;
}

void sample_stacks(probe::sampler& stacks, const scheduler& workers, bool caller) {
  std::vector<int> threads = started_threads(workers);
  int own = 0;
#if defined(__linux__)
  if (caller) own = static_cast<int>(::gettid());
#endif
  threads.push_back(own);
  for (const int id : threads) {
    if (id == 0) continue;
    const auto stack = id == own ? probe::stack_of_this_thread() : probe::stack_bounds{};
    const auto done = stacks.watch(id, {.now = sampled_now, .context = nullptr, .stack = stack});
    if (!done) return probe::report({"stacks are not sampled on all threads: " + done.error().message});
  }
}

}  // namespace plx::detail
