#include "net/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "net/core/action_entry.hpp"
#include "net/core/node.hpp"
#include "net/group/shm_messages.hpp"
#include "net/observe/clock_offsets.hpp"
#include "net/observe/job_counters.hpp"
#include "net/observe/job_summary.hpp"
#include "net/observe/trace_end.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/termination.hpp"
#include "net/transport/transport.hpp"
#include "probe/settings.hpp"
#include "rt/core/topology.hpp"
#include "session/session.hpp"

namespace plx {
namespace {

// The properties that a locality exchanges with the others first: one line each.
struct locality_info {
  std::string program;   // hash of its actions
  std::string cores;     // host and processors that it may use
  std::string measures;  // "trace", "summary", both or nothing: all localities take part in the root's measurements
  std::string host;      // localities with the same value can share memory
};

std::string text_of(const locality_info& c) { return c.program + '\n' + c.cores + '\n' + c.measures + '\n' + c.host; }

locality_info info_of(std::string_view text) {
  const auto line = [&text] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string l(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return l;
  };
  locality_info c;
  c.program = line(), c.cores = line(), c.measures = line(), c.host = line();
  return c;
}

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

std::string host_and_cores() { return fmt::format("{} {}", host_name(), fmt::join(detail::allowed_cores(), ",")); }

template <class T>
T or_throw(result<T> r, bool speaks = true) {
  if (!r) throw job_error(r.error().message, speaks);
  return std::move(r).value();
}

// Throws on the localities that differ from the root, and on the root if any locality differs.
void compare_programs(net::bootstrap& b, const std::vector<locality_info>& infos, double deadline_s) {
  const auto same = [&infos](const locality_info& c) { return c.program == infos[0].program; };
  if (std::all_of(infos.begin(), infos.end(), same)) return;
  const auto all = or_throw(b.exchange(net::describe_actions(), deadline_s), b.here() == 0);
  const auto other = std::find_if_not(infos.begin(), infos.end(), same) - infos.begin();
  std::string how = net::difference_of_actions(all[0], all[static_cast<std::size_t>(other)]);
  throw job_error(
      fmt::format("localities 0 and {} run different programs: {} (here: locality 0); start the same binary "
                  "everywhere",
                  other, how.empty() ? "their layouts differ" : how),
      b.here() == 0);
}

std::string measures_of(const probe::settings& s, bool always_sums) {
  const bool sums = always_sums || s.trace || !s.profile.empty() || s.diagnose;
  return fmt::format("{}{}", s.trace ? "trace," : "", sums ? "summary" : "");
}

// Processes that may use the same cores share them equally.
unsigned share_of_cores(const std::vector<locality_info>& infos, locality_id here) {
  const auto sharing = static_cast<std::size_t>(
      std::count_if(infos.begin(), infos.end(), [&](const locality_info& c) { return c.cores == infos[here].cores; }));
  return std::max(1u, detail::default_worker_count(detail::allowed_cores().size() / std::max<std::size_t>(sharing, 1)));
}

// Each locality writes its measurements to a folder of its own below the root's; only the root serves a page.
void set_apart(runtime_options& options, locality_id here, locality_id localities) {
  if (options.measure == nullptr) return;
  auto measure = std::make_shared<probe::settings>(*options.measure);
  measure->locality = here;
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

job::job(int& argc, char** argv) {
  job_options options;
  auto read = read_options(argc, argv);
  // Only the first process reports an invalid argument.
  if (!read) throw job_error(read.error().message, net::detail::is_first_launched());
  options.runtime = *std::move(read);
  start(std::move(options));
}

job::job(job_options options) { start(std::move(options)); }

void job::start(job_options options) {
  auto p = std::make_unique<parts>();
  p->stop_deadline_s = options.stop_deadline_s;
  const std::string_view wanted = or_throw(net::choose_transport());
  or_throw(
      net::collective::shared_memory_wanted());  // checked on each locality: the setting may be invalid on only one
  p->peers = or_throw(net::find_bootstrap(wanted));
  net::bootstrap& peers = *p->peers;
  const bool speaks = peers.here() == 0;
  std::unique_ptr<net::transport> carrier = std::make_unique<no_transport>();
  if (peers.size() > 1) carrier = or_throw(net::find_transport(wanted, peers, options.start_deadline_s), speaks);
  if (options.runtime.measure == nullptr)
    options.runtime.measure =
        std::make_shared<probe::settings>(or_throw(probe::settings_from_environment(), peers.here() == 0));
  const locality_info mine{fmt::format("{} {:x}", PLX_NET_VERSION, fnv1a(net::describe_actions())), host_and_cores(),
                           measures_of(*options.runtime.measure, options.summary), net::detail::host_key()};
  std::vector<locality_info> infos;
  for (const std::string& text : or_throw(peers.exchange(text_of(mine), options.start_deadline_s), speaks))
    infos.push_back(info_of(text));
  compare_programs(peers, infos, options.start_deadline_s);
  if (options.runtime.workers == 0 && peers.size() > 1) options.runtime.workers = share_of_cores(infos, peers.here());
  set_apart(options.runtime, peers.here(), peers.size());
  options.runtime.locality = peers.here();
  std::vector<std::string> hosts;
  for (const locality_info& c : infos) hosts.push_back(c.host);
  net::collective::shm_offers mail;
  if (peers.size() > 1) mail = or_throw(net::collective::offer_shm(peers, hosts, options.start_deadline_s), speaks);
  // From here on workers use the transport's library; the main thread must not use it until the node has stopped.
  p->home = std::make_unique<runtime>(options.runtime);
  p->node = std::make_unique<net::node>(*p->home, std::move(carrier), peers.here(), peers.size());
  p->node->share_memory(static_cast<unsigned>(std::count(hosts.begin(), hosts.end(), mine.host)));
  p->node->get<net::job_counters>();
  net::collective::open_shm(*p->node, std::move(mail), hosts);
  p->traced = peers.size() > 1 && probe::has_word(infos[0].measures, "trace");
  p->summed = peers.size() > 1 && probe::has_word(infos[0].measures, "summary");
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
  const probe::settings& asked = *home().options().measure;
  const auto all = net::summaries_of_all(node());
  if (probe::has_word(asked.profile, "screen") || asked.profile == "1") {
    const std::string text = net::job_summary_text(all);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  if (auto r = net::write_job_summary(all, asked.output); !r) log_error("{}", r.error().message);
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

void job::wait_for_all() { parts_->node->get<net::termination>().wait_for_all(); }

void job::fail(const std::exception_ptr& e) noexcept {
  parts_->failed = true;
  try {
    // Gathered while the others still answer, because the trace helps to find the reason for a lost locality.
    if ((parts_->traced || parts_->summed) && here() == 0) gather();
  } catch (const std::exception& x) {
    log_warning("the measurements of the localities could not be gathered: {}", x.what());
  }
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    parts_->node->get<net::termination>().fail(x.what());
  } catch (...) {
    parts_->node->get<net::termination>().fail("an exception that is not a std::exception");
  }
}

void job::leave_out_summary() noexcept { parts_->summed = false; }

runtime& job::home() noexcept { return *parts_->home; }
net::node& job::node() noexcept { return *parts_->node; }
locality_id job::here() const noexcept { return parts_->node->here(); }
unsigned job::size() const noexcept { return parts_->node->size(); }

}  // namespace plx
