#include "session/session.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "control/policy.hpp"
#include "control/speedup_plan.hpp"
#include "probe/counters/bounded_output.hpp"
#include "probe/counters/counter_name.hpp"
#include "probe/counters/counter_printer.hpp"
#include "probe/live/live_server.hpp"
#include "probe/monitor/machine_limits.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/monitor/task_counts.hpp"
#include "probe/monitor/task_energy.hpp"
#include "probe/record/device_lanes.hpp"
#include "probe/record/text_sink.hpp"
#include "probe/record/trace_budget.hpp"
#include "probe/record/trace_ring.hpp"
#include "probe/sample/sampler.hpp"
#include "session/diagnose_log.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/file/trace_writer.hpp"
#include "trace/flame_graph.hpp"
#include "trace/task_files.hpp"
#include "trace/task_plots.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

namespace {

printing printing_of(const settings& s) {
  return {.patterns = split_counters(s.print_counter).value_or(std::vector<std::string>{}),
          .format = s.print_format == "csv"    ? counter_format::csv
                    : s.print_format == "json" ? counter_format::json
                                               : counter_format::text,
          .to = s.print_to,
          .reset = s.print_reset};
}

device_lanes::source device_source(const settings& s) {
  return s.gpu_timeline == "off"        ? device_lanes::source::none
         : s.gpu_timeline == "activity" ? device_lanes::source::activity
                                        : device_lanes::source::events;
}

}  // namespace

struct session::state {
  state(recorder& r, counter_registry& c, settings s) : rec(r), counters(c), asked(std::move(s)) {}
  /// Also after an exception, when finish() has not ended the trace.
  ~state() {
    if (asked.attached)
      end_lent();
    else
      counters.sample_with(nullptr);
    if (trace != nullptr && !trace_ended) rec.trace(false), rec.stream_to(nullptr);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  recorder& rec;
  counter_registry& counters;
  const settings asked;
  bool finished = false, trace_ended = false;
  std::string not_written;  // the reason, if files are missing
  std::string difference;
  std::unique_ptr<diagnose_log> diagnosis;
  std::uint64_t samples_diagnosis = 0;  // in `periodic`
  const policy_registry* policies = nullptr;
  std::shared_ptr<const decision_log> decisions;
  std::function<speedup_report()> speedups;
  bounded_output screen{"stdout"};
  std::unique_ptr<trace_writer> trace;
  bool taken_back = false;          // by the program, for a trace of its own
  std::uint64_t traced_before = 0;  // records of earlier sessions
  std::unique_ptr<sampler> stacks;

  [[nodiscard]] std::string file(const char* name) const { return asked.output + "/" + name; }
  std::optional<counter_lister> lister;
  std::optional<counter_printer> printer;
  std::optional<counter_sampler> sampled_counters;
  std::vector<std::uint64_t> counter_calls;
  std::optional<trace_budget> budget;
  counter_handle machine_energy;
  std::unique_ptr<task_energy> energy;
  const task_counts* counts = nullptr;
  std::optional<machine_limits> limits;

  std::unique_ptr<live_server> live;

  void remove_files_of_earlier_run() const;
  void begin_trace();
  void begin_lent();
  void end_trace();
  void end_lent() noexcept;
  result<void> write_flame_graph() const;
  void begin_stacks();
  void begin_energy();
  void sample_energy();
  void measure_limits();
  void begin_counters();
  result<void> end_counters();
  result<void> write_all(const session_ending& how);
  result<void> write_speedups();
  void diagnose_again() {
    if (diagnosis) samples_diagnosis = periodic.every(diagnose_log::period_s, [&log = *diagnosis] { log.sample(); });
  }
  void serve();
  [[nodiscard]] double busy_s() const { return periodic.busy_s() + draining.busy_s(); }
  // The last members, since their functions use the others. Undrained records are lost, so nothing that may wait (for a
  // consumer, a locality, a user's function) runs in `draining`.
  periodic_thread periodic, draining{"plx-drain"};
};

session::session(recorder& r, counter_registry& counters, settings s)
    : state_(std::make_unique<state>(r, counters, std::move(s))) {
  if (state_->asked.writes_files()) state_->remove_files_of_earlier_run();
  if (state_->asked.diagnose) {
    state_->diagnosis = std::make_unique<diagnose_log>(r, counters);
    r.paths(true);
    state_->diagnose_again();
  }
  if (!state_->asked.attached) {
    r.devices().set_library(state_->asked.cupti_library);
    r.devices().set_source(device_source(state_->asked));
  }
  if (!state_->asked.attached && !state_->asked.profile.empty()) r.devices().set_statistics(true);
  if (state_->asked.trace) state_->begin_trace();
  if (state_->asked.sample_stacks_hz > 0) state_->begin_stacks();
  state_->begin_energy();
  state_->begin_counters();
  if (!state_->asked.serve.empty()) state_->serve();
}

session::~session() {
  try {
    (void)finish();  // it logs its errors
    // Without a log the user would find neither the requested files nor the reason.
    if (!state_->not_written.empty() && !state_->asked.attached && !log_wants(log_level::error))
      report({"plx: the measurement could not be written: " + state_->not_written});
  } catch (const std::exception& x) {
    log_error("some measurements were not written at the end: {}", x.what());
  }
  state_->live.reset();  // it reads counters
}

void session::attach(const policy_registry& policies, std::shared_ptr<const decision_log> decisions) {
  state_->policies = &policies;
  state_->decisions = std::move(decisions);
}

void session::attach(std::function<speedup_report()> report) { state_->speedups = std::move(report); }

void session::count_tasks(const task_counts& counts) { state_->counts = &counts; }

/// Those that this run may not write, and that would be taken for its own.
void session::state::remove_files_of_earlier_run() const {
  std::error_code ignored;
  for (const char* name : {"flame.svg", "stacks.collapsed", "stacks.svg", "stacks.csv", "speedup.csv"})
    std::filesystem::remove(file(name), ignored);
}

/// Without a file there is no trace: the program runs on, and the reason is reported once.
void session::state::begin_trace() {
  std::error_code failed;
  std::filesystem::create_directories(asked.output, failed);
  if (failed) {  // write_all() reports it
    not_written = "cannot create the folder '" + asked.output + "': " + failed.message();
    return;
  }
  auto created = trace_writer::create(file("trace.plxt"));
  if (!created) {
    log_error("no trace is recorded: {}", created.error().message);
    not_written = created.error().message;
    return;
  }
  trace = *std::move(created);
  if (asked.locality == 0)
    remove_traces_beyond(asked.output, asked.localities, static_cast<std::uint64_t>(asked.trace_localities));
  if (asked.attached) return begin_lent();
  traced_before = rec.traced();
  rec.stream_to(trace.get(), asked.locality, asked.localities);
  const auto ring_records = static_cast<std::size_t>(asked.trace_records);
  rec.trace(true, ring_records);
  if (rec.worker_count() > 0 && rec.worker(0).ring() == nullptr)
    report({fmt::format("no trace is recorded: no memory for {} records per worker; set trace-records to fewer",
                        ring_records)});
  draining.every(0.02, [this] {
    rec.drain();
    rec.set_background(busy_s());
  });
  if (asked.trace_budget > 0) {
    budget.emplace(rec, asked.trace_budget);
    periodic.every(trace_budget::period_s, [&b = *budget] { b.look(); });
  }
}

/// The trace of a running program, which ends when the program begins one of its own.
void session::state::begin_lent() {
  constexpr const char* in_use = "the program records a trace of its own, or has one in memory";
  const auto ring_records = static_cast<std::size_t>(asked.trace_records);
  const trace_ring* const before = rec.worker_count() > 0 ? rec.worker(0).ring() : nullptr;
  if (before != nullptr && asked.trace_records != settings{}.trace_records && before->capacity() < ring_records)
    not_written = fmt::format("trace-records={}: the buffers have been made, for {}", ring_records, before->capacity());
  else if (!rec.lend_trace(*trace, ring_records, asked.locality, asked.localities))
    not_written = in_use;
  else if (rec.worker_count() > 0 && rec.worker(0).ring() == nullptr)
    not_written = fmt::format("no memory for {} records per worker; set trace-records to fewer", ring_records);
  if (!not_written.empty()) return;
  const std::size_t used = rec.worker_count() > 0 ? rec.worker(0).ring()->capacity() : 0;
  if (before != nullptr && asked.trace_records != settings{}.trace_records && used >= 2 * ring_records)
    difference = fmt::format("trace-records={}: buffers for {} records exist already and are used", ring_records, used);
  draining.every(0.02, [this] {
    if (rec.drain_lent_trace()) rec.set_background(busy_s());
  });
}

void session::state::end_lent() noexcept {
  if (!std::exchange(trace_ended, true) && trace != nullptr) taken_back = !rec.end_lent_trace();
}

void session::state::end_trace() {
  if (trace == nullptr) return;
  if (asked.attached) {
    end_lent();
    if (taken_back && not_written.empty())
      not_written = "the program began a trace of its own, at which the requested one ends";
  } else {
    rec.trace(false);
    rec.stream_to(nullptr);
    trace_ended = true;
  }
  if (not_written.empty()) not_written = trace->error();
}

void session::state::begin_stacks() {
  auto started = sampler::start(asked.sample_stacks_hz);
  if (!started) {
    if (asked.attached && not_written.empty()) not_written = "no stacks are sampled: " + started.error().message;
    if (!asked.attached) report({"no stacks are sampled: " + started.error().message});
    return;
  }
  if (constexpr double fewest_hz = 10; asked.sample_stacks_hz < fewest_hz && !asked.attached)
    report({fmt::format(
        "sample-stacks={:g}: expected the stacks per second of CPU time, such as 100; fewer than ten say little",
        asked.sample_stacks_hz)});
  stacks = *std::move(started);
  draining.every(0.1, [this] { stacks->drain(); });
}

/// The graph of a trace takes up to loaded_bytes_per_record (trace_memory.hpp), 52 MB of the most records, while the
/// picture is made: larger traces are left to plx-trace, as are those of a job, unless each process has
/// a folder of its own.
result<void> session::state::write_flame_graph() const {
  constexpr std::uint64_t most_records = std::uint64_t{1} << 18;
  if (trace == nullptr || !trace->error().empty() || asked.attached) return {};
  if (asked.localities > 1 && !asked.own_folder) return {};
  if (rec.traced() - traced_before > most_records) {
    report({fmt::format("{} trace records: too many for flame.svg at the end; plx-trace flame '{}' makes it",
                        rec.traced() - traced_before, asked.output)});
    return {};
  }
  try {
    const auto loaded = load_trace({file("trace.plxt")});
    if (!loaded) return loaded.error();
    return write_measurement(file("flame.svg"), flame_svg(call_tree(trace_graph(loaded->trace.data))));
  } catch (const std::bad_alloc&) {
    return error{"no memory for the graph of the trace: flame.svg is not written; plx-trace flame writes it"};
  }
}

/// Prints the URL, because its token is not known in advance.
void session::state::serve() {
  auto started =
      live_server::start(rec, counters, {asked.serve, asked.serve_beyond_loopback, asked.output, stacks.get()});
  if (started) live = *std::move(started);
  std::fprintf(stderr, "plx: %s%s\n", live ? "live page: " : "no live page: ",
               printable(live ? live->url() : started.error().message).c_str());
}

sampler* session::stacks() noexcept { return state_->stacks.get(); }
std::string session::local_live_url() const { return state_->live ? state_->live->local_url() : ""; }
picture_board* session::pictures() noexcept { return state_->live ? &state_->live->pictures() : nullptr; }
void session::end_live_page() noexcept { state_->live.reset(); }
const std::string& session::missing() const noexcept { return state_->not_written; }
const std::string& session::difference() const noexcept { return state_->difference; }
const settings& session::asked() const noexcept { return state_->asked; }
periodic_thread& session::periodic() noexcept { return state_->periodic; }

void session::abandon() noexcept {
  if (std::exchange(state_->finished, true) || state_->trace == nullptr) return;
  state_->end_lent();
  std::remove(state_->file("trace.plxt").c_str());
}

result<void> session::finish(const session_ending& how) {
  if (std::exchange(state_->finished, true) || !state_->asked.any()) return {};
  state_->rec.set_background(state_->busy_s());
  state_->sample_energy();
  state_->end_trace();
  if (state_->stacks) {
    state_->stacks->stop();
    if (const std::string why = state_->stacks->failure(); asked().attached && state_->not_written.empty())
      state_->not_written = why;
  }
  const result<void> counters = state_->end_counters();
  if (!counters) log_error("{}", counters.error().message);
  if (!how.dying) state_->measure_limits();
  const result<void> files = state_->asked.writes_files() ? state_->write_all(how) : result<void>{};
  if (asked().attached && files && !state_->not_written.empty()) return error{state_->not_written};
  if (!files) state_->not_written = files.error().message;
  if (const auto picture = state_->write_flame_graph(); !picture) log_error("{}", picture.error().message);
  return counters ? files : counters;
}

/// Processes of one machine would each count all of its energy: a job has no energy by task type.
void session::state::begin_energy() {
  if (asked.attached || asked.localities > 1 || !(asked.trace || asked.writes_files())) return;
  if (auto found = counters.find(task_energy::counter_name)) machine_energy = *found;
  const double joules = machine_energy ? machine_energy.value() : std::nan("");
  if (!std::isfinite(joules)) return;
  energy = std::make_unique<task_energy>(rec, joules);
  rec.trace_counter(task_energy::counter_name, 0);
  periodic.every(task_energy::period_s, [this] { sample_energy(); });
}

void session::state::sample_energy() {
  if (energy == nullptr) return;
  if (const double joules = machine_energy.value(); std::isfinite(joules)) energy->sample(joules);
  rec.trace_counter(task_energy::counter_name, energy->sums().total);
}

/// The processes of a job would measure each other.
void session::state::measure_limits() {
  if (!asked.roofline || asked.attached || counts == nullptr) return;
  if (asked.localities > 1)
    return report({"roofline: the limits of the machine are not measured in a job of several processes"});
  auto measured = measure_machine_limits(rec.worker_count());
  if (!measured) return report({"roofline: " + measured.error().message});
  limits = *measured;
  if (limits->array_bytes < 2 * limits->cache_bytes)
    report(
        {fmt::format("roofline: memory for arrays of {} MiB only, and the caches hold {} MiB: the limit of memory may "
                     "be too high",
                     limits->array_bytes >> 20, limits->cache_bytes >> 20)});
}

void session::state::begin_counters() {
  if (!asked.any()) return;
  if (!asked.attached) counters.sample_with(&periodic);
  if (!asked.list_counters.empty()) lister.emplace(counters, asked.list_counters == "full");
  if (!asked.print_counter.empty()) {
    printer.emplace(counters, printing_of(asked));
    counters.keep_last_values(printing_of(asked).patterns);
    if (asked.print_interval_s > 0)
      counter_calls.push_back(periodic.every(asked.print_interval_s, [this] { (void)printer->print(); }));
  }
  if (asked.sample_interval_s > 0) {
    sampled_counters.emplace(rec, counters, split_counters(asked.sample_counter).value_or(std::vector<std::string>{}),
                             file("counters.csv"));
    counter_calls.push_back(periodic.every(asked.sample_interval_s, [this] { (void)sampled_counters->sample(); }));
  }
}

/// Writes the last values after printing and sampling have stopped.
result<void> session::state::end_counters() {
  for (const std::uint64_t id : counter_calls) periodic.remove(id);
  lister.reset();
  result<void> first;
  if (printer) {
    first = printer->print(true);
    counters.keep_last_values({});
  }
  if (sampled_counters)
    if (auto r = sampled_counters->sample(); !r && first) first = r;
  return first;
}

result<void> session::write_now() {
  if (state_->finished || !state_->asked.writes_files()) return {};
  if (state_->trace != nullptr) state_->rec.drain();
  if (state_->stacks != nullptr) state_->stacks->drain();
  state_->sample_energy();
  auto done = state_->write_all({});
  state_->diagnose_again();
  return done;
}

result<void> session::state::write_speedups() {
  constexpr double timeout_s = 1;  // for a consumer of stdout that does not read
  const speedup_report r = speedups();
  std::vector<std::string> lines;
  for (const std::string& p : r.problems) lines.push_back("virtual speed-ups: " + p);
  report(lines);
  if (r.gains.empty()) return {};
  auto printed = screen.write("", speedup_text(r), timeout_s);
  auto written = write_measurement(file("speedup.csv"), speedup_csv(r));
  return printed ? written : printed;
}

result<void> session::state::write_all(const session_ending& how) {
  std::error_code failed;
  std::filesystem::create_directories(asked.output, failed);
  result<void> first;
  const auto note = [&](result<void> r) {
    if (!r && first) first = r;
    if (!r) log_error("{}", r.error().message);
  };
  if (failed) {
    note(error{"cannot create the folder '" + asked.output + "': " + failed.message()});
    return first;
  }
  if (diagnosis) {
    periodic.remove(samples_diagnosis);
    note(diagnosis->write(asked.output));
  }
  const auto more_tables = [&] {
    if (decisions != nullptr && decisions->count() > 0) note(decisions->write_csv(file("decisions.csv")));
    if (policies != nullptr && !policies->report().empty()) note(policies->write_csv(file("policies.csv")));
    if (speedups) note(write_speedups());
    if (how.tables != nullptr) note(how.tables(how.context));
  };
  const energy_of_tasks joules = energy != nullptr ? energy->sums() : energy_of_tasks{};
  const counts_of_tasks counted = counts != nullptr ? counts->sums() : counts_of_tasks{};
  const auto written = write_task_files(rec, asked,
                                        {.trace_error = trace ? trace->error() : not_written,
                                         .unwritten = trace ? trace->dropped() : 0,
                                         .totals = trace && asked.attached ? &trace->last_totals() : nullptr,
                                         .stacks = stacks.get(),
                                         .energy = energy != nullptr ? &joules : nullptr,
                                         .counts = counts != nullptr ? &counted : nullptr,
                                         .limits = limits ? &*limits : nullptr,
                                         .lines = !how.dying,
                                         .more_tables = more_tables});
  if (!written && first) first = written;  // already logged
  return first;
}

}  // namespace plx::probe
