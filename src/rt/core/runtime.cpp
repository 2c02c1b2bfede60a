#include "rt/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "control/policy.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/counters/periodic_thread.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/monitor/perf_group.hpp"
#include "probe/monitor/task_counts.hpp"
#include "probe/ranges/range_output.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"
#include "rt/core/deterministic.hpp"
#include "rt/core/parker.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/topology.hpp"
#include "rt/executor.hpp"
#include "rt/explain/explain.hpp"
#include "rt/measure/loop_tuning.hpp"
#include "rt/measure/scheduler_counters.hpp"
#include "rt/measure/speedup.hpp"
#include "session/attach_server.hpp"
#include "session/session.hpp"

namespace plx {
namespace {

// The value of PLX_BIND, if set.
std::optional<bool> binding_wanted() {
  const char* text = std::getenv("PLX_BIND");
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view value = text;
  if (value != "0" && value != "1")
    throw std::invalid_argument("PLX_BIND=" + std::string(value) + ": expected 0 (never bind) or 1 (bind)");
  return value == "1";
}

template <class T>
T value_or_throw(result<T> r) {
  if (!r) throw std::invalid_argument(r.error().message);
  return std::move(r).value();
}

runtime_options completed(runtime_options o) {
  if (o.measure == nullptr)
    o.measure = std::make_shared<probe::settings>(value_or_throw(probe::settings_from_environment()));
  if (o.cores.empty())
    if (const char* cores = std::getenv("PLX_CORES")) o.cores = cores;
  const std::size_t n_cores =
      o.cores.empty() ? detail::allowed_cores().size() : detail::processors_named(o.cores).size();
  if (o.workers == 0) o.workers = detail::default_worker_count(n_cores);
  if (o.workers > detail::most_workers)
    throw std::invalid_argument("workers = " + std::to_string(o.workers) + ": expected at most " +
                                std::to_string(detail::most_workers));
  if (!binding_wanted().value_or(true)) o.bind = false;
  if (const char* signal = std::getenv("PLX_EXPLAIN_SIGNAL"); signal != nullptr && o.explain_signal == 0)
    o.explain_signal = detail::signal_named(signal, "PLX_EXPLAIN_SIGNAL");
  if (const char* after = std::getenv("PLX_REPORT_HANG")) {
    char* end = nullptr;
    o.report_hang_after_s = std::strtod(after, &end);
    if (end == after || *end != '\0' || !(o.report_hang_after_s >= 0))
      throw std::invalid_argument(std::string("PLX_REPORT_HANG=") + after + ": expected seconds, as in 10");
  }
  return o;
}

std::vector<unsigned> binding_of(const runtime_options& o) {
  if (!o.bind) return {};
  if (!o.cores.empty()) return detail::processors_named(o.cores);
  // By default the operating system chooses the CPUs: a bound worker cannot move away when another program takes its
  // core. A process that was given its own cores is bound to them.
  const bool ours = detail::processors_were_given() || binding_wanted().value_or(false);
  return ours && o.workers == detail::allowed_cores().size() ? detail::allowed_cores() : std::vector<unsigned>{};
}

// Hangs are reported if PLX_REPORT_HANG is set or the log takes warnings.
bool reports_hangs() { return std::getenv("PLX_REPORT_HANG") != nullptr || log_wants(log_level::warning); }

// Waits for the token. Reports once if for `after_s` nothing could proceed although tasks are suspended, or no task has
// started, resumed or ended.
void wait_or_report_hang(detail::scheduler& s, detail::parker& end, double after_s) {
  constexpr int looks = 4;
  if (!(after_s > 0)) return end.wait();
  const auto pause_ns = static_cast<std::int64_t>(std::min(after_s, 1e8) / looks * 1e9);
  std::uint64_t seen = s.progress();
  int still = 0, busy = 0;
  while (still < looks) {
    if (end.wait_for(pause_ns)) return;
    const std::uint64_t progress = s.progress();
    const bool quiet = s.quiet();
    still = progress == seen && quiet && s.suspended_tasks() != 0 ? still + 1 : 0;
    busy = progress == seen && !quiet ? busy + 1 : 0;
    seen = progress;
    if (busy == looks && reports_hangs())
      probe::write_flight(fmt::format("no task has begun or ended for {:.3g} s", after_s), probe::next_flight_number());
  }
  if (reports_hangs()) {
    detail::print_explanation("run() waits, and no task can continue without outside input for " +
                              fmt::format("{:.3g}", after_s) + " s or more:\n" + s.explain_waits());
    probe::write_flight("run() waits, and no task can continue without outside input", probe::next_flight_number());
  }
  end.wait();
}

}  // namespace

struct runtime::parts {
  explicit parts(const runtime_options& o)
      : options(o),
        on_signal(o.explain_signal),
        recorder(o.workers),
        scheduler(options, binding_of(options), recorder),
        counters(o.locality) {
    begin_ranges();
    begin_speedups();
    begin_counts();
    recorder.flight(static_cast<std::size_t>(options.measure->flight));
    flight.emplace(scheduler, recorder, *options.measure);
    if (options.measure->any()) session.emplace(recorder, with_counters(), *options.measure);
    if (session && speedups) session->attach([this] { return speedups->report(); });
    if (session && counts_by_task) session->count_tasks(*counts_by_task);
    if (session && session->stacks() != nullptr) detail::sample_stacks(*session->stacks(), scheduler);
    if (!options.measure->policies.empty()) with_control();
    if (options.measure->attach && !options.deterministic) attachment.emplace(attach_target());
  }
  void begin_ranges() {
    if (options.measure->ranges.empty()) return;
    if (const std::string why = probe::ranges_unavailable(options.measure->ranges); !why.empty())
      return probe::report({"ranges: " + why});
    ranges.emplace(options.measure->ranges);
    recorder.observe(&*ranges);
  }
  /// No task has been submitted yet, so no worker uses its account.
  void begin_speedups() {
    if (const std::string why = detail::speedups::refusal(options); !why.empty()) return probe::report({why});
    if (options.measure->speedup.empty()) return;
    speedups.emplace(*options.measure, recorder, scheduler.worker_count());
    for (unsigned i = 0; i < scheduler.worker_count(); ++i) scheduler.worker_at(i).delays = &speedups->account(i);
  }
  /// Before the counters, which read the same events.
  void begin_counts() {
    const probe::settings& s = *options.measure;
    if (s.perf_tasks && options.deterministic) probe::report({"perf-tasks: no events in the deterministic mode"});
    if (s.perf_tasks && !options.deterministic) {
      std::vector<std::string> notes;
      event_groups = probe::open_perf_groups(s.perf, watched_threads(), notes);
      probe::report(notes);
    }
    if (s.roofline || !event_groups.threads.empty())
      counts_by_task.emplace(recorder, s.roofline, event_groups.events, event_groups.threads);
  }
  /// Ranges and policies share the recorder's observer.
  void observe(probe::task_observer* o) {
    if (ranges)
      ranges->pass_to(o);
    else
      recorder.observe(o);
  }
  /// For a measurement that is requested while the program runs.
  probe::attach_target attach_target() {
    return {.records = &recorder,
            .own = session ? &*session : nullptr,
            .context = this,
            .counters = [](void* p) -> probe::counter_registry& { return static_cast<parts*>(p)->with_counters(); },
            .sample = [](void* p,
                         probe::sampler& to) { detail::sample_stacks(to, static_cast<parts*>(p)->scheduler, false); }};
  }
  probe::counter_registry& with_counters() {
    std::call_once(counters_made, [this] {
      const auto keep = [this](std::vector<probe::registration> added) {
        for (auto& r : added) registrations.push_back(std::move(r));
      };
      keep(probe::add_machine_counters(counters));
      keep(probe::add_recorder_counters(counters, recorder));
      keep(probe::add_wait_counters(counters, recorder));
      keep(detail::add_scheduler_counters(counters, scheduler));
      probe::monitors m = probe::add_monitors(counters, *options.measure, watched_threads(), &event_groups);
      keep(std::move(m.counters));
      probe::report(m.missing);
      if (options.measure->diagnose) registrations.push_back(detail::add_task_cost_counter(counters));
      const std::lock_guard lock(adders_lock);
      counted = true;
      for (const counter_adder& a : adders) keep(a.add(a.arg, counters));
    });
    return counters;
  }
  /// Counters of other libraries, added when they exist.
  struct counter_adder {
    std::vector<probe::registration> (*add)(void*, probe::counter_registry&);
    void* arg;
  };
  void when_counted(counter_adder a) {
    const std::lock_guard lock(adders_lock);
    if (!counted) return adders.push_back(a);
    for (auto& r : a.add(a.arg, counters)) registrations.push_back(std::move(r));
  }
  /// If events are counted per thread: the workers' threads.
  std::vector<probe::watched_thread> watched_threads() const {
    if (options.measure->perf.empty() && options.measure->papi.empty()) return {};
    const std::vector<int> ids = detail::started_threads(scheduler);
    std::vector<probe::watched_thread> threads;
    for (std::size_t i = 0; i < ids.size(); ++i)
      threads.push_back({counters.locality_name() + "/worker-thread#" + std::to_string(i), ids[i]});
    return threads;
  }
  /// Actuators and policies; also created on first use.
  struct control {
    explicit control(parts& p)
        : actuators(&p.recorder),
          policies(
              p.session ? p.session->periodic() : own_thread, actuators,
              [](void* all, probe::task_observer* o) { static_cast<parts*>(all)->observe(o); }, &p) {
      if (p.session) p.session->attach(policies, actuators.log());
      counters = probe::add_policy_counters(p.with_counters(), policies, *actuators.log());
      const auto workers = static_cast<std::int64_t>(p.scheduler.worker_count());
      worker_cap = actuators.add<std::int64_t>(
          {"worker-cap", "1", "workers that take tasks; the others run what is pinned to them"}, workers, {1, workers},
          [&s = p.scheduler](std::int64_t n) { s.set_worker_cap(static_cast<unsigned>(n)); });
      loops = detail::add_shipped_policies(*p.options.measure, p.scheduler, p.with_counters(), actuators, policies);
      p.scheduler.tune_loops(loops.get());
    }
    probe::periodic_thread own_thread;  // of a runtime without a session; no thread until there is a periodic policy
    probe::actuator_registry actuators;
    probe::actuator_handle<std::int64_t> worker_cap;
    probe::policy_registry policies;
    std::vector<probe::registration> counters;
    std::unique_ptr<detail::loop_tuning> loops;
  };
  control& with_control() {
    std::call_once(control_made, [this] { controlled.emplace(*this); });
    return *controlled;
  }
  runtime_options options;
  detail::explain_signal on_signal;
  std::optional<probe::range_output> ranges;
  probe::recorder recorder;
  std::optional<detail::speedups> speedups;
  probe::perf_groups event_groups;
  std::optional<probe::task_counts> counts_by_task;
  detail::scheduler scheduler;  // its workers use the members above
  std::optional<detail::flight_watch> flight;
  // Created on first use, so that a runtime without queries does not pay for them.
  std::once_flag counters_made;
  probe::counter_registry counters;
  std::vector<probe::registration> registrations;
  std::mutex adders_lock;
  std::vector<counter_adder> adders;
  bool counted = false;
  std::once_flag control_made;
  std::optional<control> controlled;  // stopped before the session ends, and read by it at its end
  std::optional<probe::session> session;
  std::optional<probe::attach_registration> attachment;
};

runtime::runtime(runtime_options options) : parts_(std::make_unique<parts>(completed(options))) {}
runtime::~runtime() {
  parts_->scheduler.stop();  // before any part is destroyed: the last tasks may use all of them
  parts_->attachment.reset();
  if (!parts_->controlled) return;
  parts_->controlled->policies.stop();
  if (parts_->controlled->loops) parts_->controlled->loops->store();
}

runtime_options options_from_arguments(int& argc, char** argv) {
  auto options = read_options(argc, argv);
  if (options) return *std::move(options);
  std::fprintf(stderr, "%s: %s\n", argc > 0 && argv[0] != nullptr ? argv[0] : "plx",
               printable(options.error().message).c_str());
  std::exit(2);
}

result<runtime_options> read_options(int& argc, char** argv) {
  auto read = probe::settings_from_arguments(argc, argv);
  if (!read) return read.error();
  auto s = std::make_shared<probe::settings>(*std::move(read));
  runtime_options o;
  o.workers = static_cast<unsigned>(s->threads);
  o.cores = s->cores;
  o.measure = std::move(s);
  try {  // the constructor would throw, which ends a program that expects no exception
    static_cast<void>(completed(o));
    if (!o.measure->flight_signal.empty())
      static_cast<void>(detail::signal_named(o.measure->flight_signal, "flight-signal"));
  } catch (const std::invalid_argument& e) {
    return error{e.what()};
  }
  return o;
}

void runtime::run_to_end(detail::task* t, detail::future_state_base& end) {
  detail::scheduler& s = parts_->scheduler;
  const detail::worker* caller = detail::this_worker();
  PLX_ASSERT((caller == nullptr || &caller->home != &s) &&
             "runtime::run() waits as a thread; inside a task of the same runtime use async()");
  // A task of another runtime waits as it does for a future. In the deterministic mode no other task could run, so it
  // waits as a thread does.
  if (caller != nullptr && !caller->home.deterministic() && !s.deterministic()) {
    s.submit(t);
    return end.wait();
  }
  struct ended : detail::continuation {
    std::atomic<bool> done{false};
    detail::parker* waiting = nullptr;
  } me;
  me.fire = [](detail::continuation* c) {
    auto& e = *static_cast<ended*>(c);
    detail::parker* waiting = e.waiting;
    e.done.store(true, std::memory_order_release);  // pairs with the acquires in deterministic.cpp
    if (waiting != nullptr) waiting->wake();
  };
  if (!s.deterministic()) me.waiting = &detail::this_thread_parker();
  end.attach(me);
  s.submit(t);
  if (!s.deterministic()) return wait_or_report_hang(s, *me.waiting, parts_->options.report_hang_after_s);
  if (s.run_until(me.done)) return;
  end.try_detach(me);  // this frame ends, the waiting tasks stay
  const auto* c = s.conducted_by();
  const std::string title = c != nullptr ? c->title() : "seed " + std::to_string(s.seed());
  throw deadlock_error("deadlock: no task can continue (" + title + "):\n" + s.explain_waits());
}

detail::scheduler& runtime::get_scheduler() noexcept { return parts_->scheduler; }
executor runtime::get_executor() noexcept { return executor(parts_->scheduler); }
void runtime::inject(detail::task* t) { parts_->scheduler.inject(t); }
unsigned runtime::worker_count() const noexcept { return parts_->scheduler.worker_count(); }
probe::recorder& runtime::recorder() noexcept { return parts_->recorder; }
probe::counter_registry& runtime::counters() { return parts_->with_counters(); }
probe::actuator_registry& runtime::actuators() { return parts_->with_control().actuators; }
probe::policy_registry& runtime::policies() { return parts_->with_control().policies; }
void runtime::when_counted(std::vector<probe::registration> (*add)(void*, probe::counter_registry&), void* arg) {
  parts_->when_counted({add, arg});
}
probe::session* runtime::session() noexcept { return parts_->session ? &*parts_->session : nullptr; }
const runtime_options& runtime::options() const noexcept { return parts_->options; }
std::uint64_t runtime::add_poller(poll_result (*f)(void*), void* arg) { return parts_->scheduler.add_poller(f, arg); }
void runtime::remove_poller(std::uint64_t id) { parts_->scheduler.remove_poller(id); }
void runtime::ask_pollers() noexcept { parts_->scheduler.ask_pollers(); }
std::string runtime::bindings() const {
  std::string text;
  for (unsigned i = 0; i < worker_count(); ++i) {
    text += "worker " + std::to_string(i) + ": ";
    const auto processors = parts_->scheduler.processors_of(i);
    if (processors.empty()) text += "not bound";
    for (const unsigned p : processors) text += (p == processors.front() ? "" : ", ") + detail::describe_processor(p);
    text += '\n';
  }
  return text;
}
std::string runtime::explain_waits() const { return parts_->scheduler.explain_waits(); }

std::optional<unsigned> worker_index() noexcept {
  const detail::worker* w = detail::this_worker();
  if (w == nullptr) return std::nullopt;
  return w->index;
}

}  // namespace plx
