#include "session/session.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "control/policy.hpp"
#include "probe/counters/counter_name.hpp"
#include "probe/counters/counter_printer.hpp"
#include "probe/live/live_server.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/record/device_lanes.hpp"
#include "probe/record/trace_budget.hpp"
#include "session/diagnose_log.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/file/trace_writer.hpp"
#include "trace/task_files.hpp"

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

  recorder& rec;
  counter_registry& counters;
  const settings asked;
  bool finished = false;
  std::string not_written;  // the reason, if files are missing
  std::unique_ptr<diagnose_log> diagnosis;
  std::uint64_t samples_diagnosis = 0;  // in `periodic`
  const policy_registry* policies = nullptr;
  std::shared_ptr<const decision_log> decisions;
  std::unique_ptr<trace_writer> trace;

  [[nodiscard]] std::string file(const char* name) const { return asked.output + "/" + name; }
  std::optional<counter_lister> lister;
  std::optional<counter_printer> printer;
  std::optional<counter_sampler> sampler;
  std::vector<std::uint64_t> counter_calls;
  std::optional<trace_budget> budget;

  std::unique_ptr<live_server> live;

  void begin_trace();
  void end_trace();
  void begin_counters();
  result<void> end_counters();
  result<void> write_all();
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
  if (state_->asked.diagnose) {
    state_->diagnosis = std::make_unique<diagnose_log>(r, counters);
    r.paths(true);
    state_->diagnose_again();
  }
  r.devices().set_library(state_->asked.cupti_library);
  r.devices().set_source(device_source(state_->asked));
  if (!state_->asked.profile.empty()) r.devices().set_statistics(true);
  if (state_->asked.trace) state_->begin_trace();
  state_->begin_counters();
  if (!state_->asked.serve.empty()) state_->serve();
}

session::~session() {
  try {
    (void)finish();  // it logs its errors
    // Without a log the user would find neither the requested files nor the reason.
    if (!state_->not_written.empty() && !log_wants(log_level::error))
      report({"plx: the measurement could not be written: " + state_->not_written});
  } catch (const std::exception& x) {
    log_error("some measurements were not written at the end: {}", x.what());
  }
  state_->live.reset();  // it reads counters
  state_->counters.sample_with(nullptr);
}

void session::attach(const policy_registry& policies, std::shared_ptr<const decision_log> decisions) {
  state_->policies = &policies;
  state_->decisions = std::move(decisions);
}

/// Without a file there is no trace: the program runs on, and the reason is reported once.
void session::state::begin_trace() {
  std::error_code failed;
  std::filesystem::create_directories(asked.output, failed);
  if (failed) return;  // write_all() reports it
  auto created = trace_writer::create(file("trace.plxt"));
  if (!created) {
    log_error("no trace is recorded: {}", created.error().message);
    not_written = created.error().message;
    return;
  }
  trace = *std::move(created);
  if (asked.locality == 0) remove_traces_beyond(asked.output, asked.localities);
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

void session::state::end_trace() {
  if (trace == nullptr) return;
  rec.trace(false);
  rec.stream_to(nullptr);
  if (not_written.empty()) not_written = trace->error();
}

/// Prints the URL, because its token is not known in advance.
void session::state::serve() {
  auto started = live_server::start(rec, counters, {asked.serve, asked.serve_beyond_loopback, asked.output});
  if (started) live = *std::move(started);
  std::fprintf(stderr, "plx: %s%s\n", live ? "live page: " : "no live page: ",
               printable(live ? live->url() : started.error().message).c_str());
}

picture_board* session::pictures() noexcept { return state_->live ? &state_->live->pictures() : nullptr; }
void session::end_live_page() noexcept { state_->live.reset(); }
const settings& session::asked() const noexcept { return state_->asked; }
periodic_thread& session::periodic() noexcept { return state_->periodic; }

result<void> session::finish() {
  if (std::exchange(state_->finished, true) || !state_->asked.any()) return {};
  state_->rec.set_background(state_->busy_s());
  state_->end_trace();
  const result<void> counters = state_->end_counters();
  if (!counters) log_error("{}", counters.error().message);
  const result<void> files = state_->asked.writes_files() ? state_->write_all() : result<void>{};
  if (!files) state_->not_written = files.error().message;
  return counters ? files : counters;
}

void session::state::begin_counters() {
  if (!asked.any()) return;
  counters.sample_with(&periodic);
  if (!asked.list_counters.empty()) lister.emplace(counters, asked.list_counters == "full");
  if (!asked.print_counter.empty()) {
    printer.emplace(counters, printing_of(asked));
    counters.keep_last_values(printing_of(asked).patterns);
    if (asked.print_interval_s > 0)
      counter_calls.push_back(periodic.every(asked.print_interval_s, [this] { (void)printer->print(); }));
  }
  if (asked.sample_interval_s > 0) {
    sampler.emplace(rec, counters, split_counters(asked.sample_counter).value_or(std::vector<std::string>{}),
                    file("counters.csv"));
    counter_calls.push_back(periodic.every(asked.sample_interval_s, [this] { (void)sampler->sample(); }));
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
  if (sampler)
    if (auto r = sampler->sample(); !r && first) first = r;
  return first;
}

result<void> session::write_now() {
  if (state_->finished || !state_->asked.writes_files()) return {};
  if (state_->trace != nullptr) state_->rec.drain();
  auto done = state_->write_all();
  state_->diagnose_again();
  return done;
}

result<void> session::state::write_all() {
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
  const std::uint64_t unwritten = trace ? trace->dropped() : 0;
  if (auto r = write_task_files(rec, asked, trace ? trace->error() : not_written, unwritten); !r && first)
    first = r;  // already logged
  if (decisions != nullptr && decisions->count() > 0) note(decisions->write_csv(file("decisions.csv")));
  if (policies != nullptr && !policies->report().empty()) note(policies->write_csv(file("policies.csv")));
  return first;
}

}  // namespace plx::probe
