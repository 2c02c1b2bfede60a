#include "net/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "net/core/action_entry.hpp"
#include "net/core/node.hpp"
#include "net/group/membership.hpp"
#include "net/observe/clock_offsets.hpp"
#include "net/observe/job_counters.hpp"
#include "net/observe/job_summary.hpp"
#include "net/observe/trace_end.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/job_start.hpp"
#include "net/start/termination.hpp"
#include "net/transport/shm_segment.hpp"
#include "net/transport/transport.hpp"
#include "probe/settings.hpp"
#include "rt/core/topology.hpp"
#include "session/session.hpp"

namespace plx {
namespace {

// The transport of a process that runs alone.
class no_transport final : public net::transport {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "none"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 4096; }
  void start(net::receiver&) override {}
  void send(locality_id, net::outgoing& m) noexcept override { m.sent(&m, false); }
  bool progress() noexcept override { return false; }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }
};

// Each locality reports its own error: it may be the only one that has it, and the one that others would leave the
// report to may be lost.
template <class T>
T or_throw(result<T> r) {
  if (!r) throw job_error(r.error().message, true);
  return std::move(r).value();
}

// The environment may be invalid on only one locality.
runtime_options options_from_environment() {
  int none = 0;
  return or_throw(read_options(none, nullptr));
}

std::string measures_of(const probe::settings& s, bool always_sums) {
  const bool sums = always_sums || s.trace || !s.profile.empty() || s.diagnose;
  return fmt::format("{}{}", s.trace ? "trace," : "", sums ? "summary" : "");
}

// Processes that may use the same cores share them equally. Spares, the last ones, count only where there are no
// others: they take the place of a lost process.
unsigned share_of_cores(const std::vector<net::locality_properties>& all, locality_id here, unsigned spares) {
  const auto same = [&](const auto& one) { return one.cores == all[here].cores; };
  auto sharing = static_cast<std::size_t>(std::count_if(all.begin(), all.end() - spares, same));
  if (sharing == 0) sharing = static_cast<std::size_t>(std::count_if(all.end() - spares, all.end(), same));
  return std::max(1u, detail::default_worker_count(detail::allowed_cores().size() / std::max<std::size_t>(sharing, 1)));
}

// Each locality writes its measurements to a folder of its own below the root's; only the root serves a page.
void set_apart(runtime_options& options, locality_id here, locality_id localities) {
  if (options.measure == nullptr) return;
  auto measure = std::make_shared<probe::settings>(*options.measure);
  measure->locality = here;
  measure->trace = measure->trace && here % measure->trace_localities == 0;
  measure->localities = localities;
  if (here != 0) {
    measure->output += fmt::format("/localities/{}", here);
    measure->serve.clear();
  }
  options.measure = std::move(measure);
}

}  // namespace

int job_error::report(const char* program) const noexcept {
  if (speaks_) std::fprintf(stderr, "%s: %s\n", program, printable(what()).c_str());
  return 2;
}

struct job::parts {
  double stop_deadline_s = 0;
  bool traced = false;    // the root records a trace, and measures the clocks
  bool summed = false;    // the root writes a summary of all localities
  bool gathered = false;  // gather() was called
  bool failed = false;
  std::unique_ptr<net::bootstrap> peers;
  std::unique_ptr<runtime> home;
  std::unique_ptr<net::node> node;
};

job::job(int& argc, char** argv, job_options options) {
  static_cast<void>(options_from_environment());
  auto read = read_options(argc, argv);
  if (read) options.runtime = *std::move(read);
  start(std::move(options), read ? "" : read.error().message);
}

job::job(job_options options) { start(std::move(options), ""); }

// `problem`: an invalid argument, which usually all localities have. They compare them, so that one reports it.
// A locality that cannot meet the others reports its own instead of that.
void job::start(job_options options, std::string problem) {
  auto p = std::make_unique<parts>();
  p->stop_deadline_s = options.stop_deadline_s;
  const std::string_view wanted = or_throw(net::choose_transport());
  or_throw(net::detail::shared_memory_wanted());  // checked before this locality meets the others
  if (options.runtime.measure == nullptr) options.runtime.measure = options_from_environment().measure;
  const std::int64_t every = options.runtime.measure->trace_localities;
  if (problem.empty() && every < 1) problem = fmt::format("trace-localities: expected at least 1, found {}", every);
  const std::int64_t spares_wanted = options.runtime.measure->spares;
  if (problem.empty() && spares_wanted != 0 && !options.takes_spares)
    problem = fmt::format("spares: this program does not replace lost processes: expected 0, found {}", spares_wanted);
  auto found = net::find_bootstrap(wanted, options.start_deadline_s);
  if (!found && !problem.empty()) throw job_error(problem, true);
  p->peers = or_throw(std::move(found));
  if (problem.empty() && spares_wanted >= p->peers->size())
    problem = fmt::format("spares: expected at most {} in a job of {}, found {}", p->peers->size() - 1,
                          plural(p->peers->size(), "process"), spares_wanted);
  const auto mine = net::properties_here(measures_of(*options.runtime.measure, options.summary), problem,
                                         static_cast<unsigned>(spares_wanted));
  net::job_start start = net::start_together(wanted, p->peers, mine, options.start_deadline_s);
  const net::bootstrap& peers = *p->peers;
  const bool many = peers.size() > 1;
  if (many) log_info("{} localities have started in {} exchanges of data", peers.size(), peers.exchanges());
  const unsigned spares = start.properties[0].spares;
  if (options.runtime.workers == 0 && many)
    options.runtime.workers = share_of_cores(start.properties, peers.here(), spares);
  set_apart(options.runtime, peers.here(), peers.size());
  options.runtime.locality = peers.here();
  if (!many) start.carrier = std::make_unique<no_transport>();
  // From here on workers use the transport's library; the main thread must not use it until the node has stopped.
  p->home = std::make_unique<runtime>(options.runtime);
  p->node = std::make_unique<net::node>(*p->home, std::move(start.carrier), peers.here(), peers.size(), spares);
  const std::string& host = start.hosts[peers.here()];
  p->node->share_memory(static_cast<unsigned>(std::count(start.hosts.begin(), start.hosts.end(), host)));
  p->node->get<net::job_counters>();
  const std::string& measures = start.properties[0].measures;  // of the root
  p->traced = many && probe::has_word(measures, "trace");
  p->summed = many && probe::has_word(measures, "summary");
  parts_ = std::move(p);
  if (parts_->traced && here() == 0) begin_measuring();
}

namespace {
constexpr double clock_period_s = 10;
}

void job::begin_measuring() {
  home().run([this] {
    auto& clocks = node().get<net::clock_offsets>();
    clocks.measure(20);  // some localities may still be starting
    clocks.begin(clock_period_s);
  });
}

/// Called in a task. All localities stop recording; the root measures the clocks and writes the summary meanwhile.
void job::gather() {
  if (std::exchange(parts_->gathered, true)) return;
  auto& traces = node().get<net::trace_end>();
  if (here() == 0) node().get<net::clock_offsets>().end();
  traces.freeze();
  if (here() != 0) return traces.wait_for_release(parts_->stop_deadline_s / 2);
  try {
    if (parts_->traced) traces.measure_clocks(parts_->failed ? 0 : parts_->stop_deadline_s / 2);
    if (parts_->summed) write_summary();
  } catch (...) {
    traces.release();  // ends the wait of the others
    throw;
  }
  traces.release();
}

/// Prints to stdout, as requested by the profile setting.
void job::write_summary() {
  const probe::settings& settings = *home().options().measure;
  constexpr double after_failure_s = 2;  // of a job that has failed, whose other processes may have stopped
  const auto all = net::summary_of_all(node(), parts_->failed ? after_failure_s : parts_->stop_deadline_s / 2);
  if (probe::has_word(settings.profile, "screen") || settings.profile == "1") {
    const std::string text = net::job_summary_text(all);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  if (auto r = net::write_job_summary(all, settings.output); !r) log_error("{}", r.error().message);
}

void job::end_measuring() noexcept {
  if (!(parts_->traced || parts_->summed) || parts_->gathered || parts_->failed) return;
  try {
    home().run([this] { gather(); });
  } catch (const std::exception& x) {
    log_warning("the measurements of the localities could not be gathered: {}", x.what());
  }
}

job::~job() {
  parts& p = *parts_;
  end_measuring();
  if (!p.node->stop(p.stop_deadline_s))
    log_warning("the network was not quiescent within {} s: it was stopped nevertheless", p.stop_deadline_s);
  p.home.reset();  // its last tasks find all other localities lost
  p.node.reset();
  p.peers->leave(p.stop_deadline_s);
}

// Called in a task. On a spare that is taken meanwhile, another task calls the body.
void job::run_here(const task_info& info, void* body, void (*call)(void*)) {
  auto& members = node().get<net::membership>();
  auto& end = node().get<net::termination>();
  std::exception_ptr thrown;
  auto when_taken = [&] {
    try {
      if (members.join()) call(body);
      members.finish();
    } catch (...) {
      thrown = std::current_exception();
      fail(thrown);
      end.stop_waiting();
    }
  };
  using taken = decltype(when_taken);
  if (members.begin_run({info, &when_taken, [](void* f) { (*static_cast<taken*>(f))(); }})) {
    try {
      call(body);
      members.finish();
    } catch (...) {
      fail(std::current_exception());
      throw;
    }
  }
  std::exception_ptr lost;
  try {
    end.wait_for_all();
  } catch (...) {  // it does not wait for a body that still runs
    lost = std::current_exception();
  }
  members.end_run();
  if (!lost) lost = members.loss_of_all_members();
  if (thrown || lost) std::rethrow_exception(thrown ? thrown : lost);
}

void job::fail(const std::exception_ptr& e) noexcept {
  parts_->failed = true;
  try {
    // Gathered while the others still answer, because the trace helps to find the reason for a lost locality.
    if ((parts_->traced || parts_->summed) && here() == 0) gather();
  } catch (const std::exception& x) {
    log_warning("the measurements of the localities could not be gathered: {}", x.what());
  }
  parts_->node->get<net::termination>().fail(e);
}

void job::leave_out_summary() noexcept { parts_->summed = false; }

runtime& job::home() noexcept { return *parts_->home; }
net::node& job::node() noexcept { return *parts_->node; }
locality_id job::here() const noexcept { return parts_->node->here(); }
unsigned job::size() const noexcept { return parts_->node->size(); }

}  // namespace plx
