#include "replay.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <utility>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "crew.hpp"

namespace plx::scale {

namespace s4u = simgrid::s4u;

namespace {

double now() { return s4u::Engine::get_clock(); }

template <class F>
void after(double seconds, F&& f) {
  simgrid::kernel::timer::Timer::set(now() + seconds, std::forward<F>(f));
}

// Messages that a locality has sent and the network has not accepted yet.
struct network_card {
  std::deque<node_id> outbox;
  s4u::SemaphorePtr filled = s4u::Semaphore::create(0);
};

// One replay on existing hosts. Requires: enough hosts; g.finish(); no cycle in the graph.
class replay_run {
 public:
  replay_run(const std::vector<s4u::Host*>& hosts, const work_graph& g, const layout& where, const costs& c)
      : g_(g),
        where_(where),
        costs_(c),
        begin_s_(now()),
        needs_(g.needs()),
        cause_s_(g.size(), -1.0),
        book_(g.localities(), where.workers, begin_s_),
        left_(g.size()),
        cards_(g.localities()) {
    const int n = g.localities();
    for (int h = 0; h <= (n - 1) / where.per_host; ++h)
      cores_.emplace_back(hosts[h]->get_core_count(), where.reference_speed / hosts[h]->get_speed());
    for (int l = 0; l < n; ++l) {
      hosts_.push_back(hosts[l / where.per_host]);
      crews_.emplace_back(where.workers, cores_[l / where.per_host]);
    }
  }

  replayed go();

 private:
  void place_first_tasks();
  void wake(int l);
  void go_on(int l, int worker);
  void take(int l, int worker, node_id n);
  void run(int l, int worker, node_id n);
  void task_ended(int l, int worker, node_id n);
  void send(int l, int worker, std::vector<node_id> messages);
  void received(int l, int worker, node_id message);
  void release(int worker, node_id n, double sent_s, std::vector<node_id>& messages);
  void node_ended();
  void carry(int l);
  void arrive_after(double seconds, node_id m);
  double slowness(int l) { return crews_[l].cores().slowness(); }
  bool is_work(node_id n) const;

  const work_graph& g_;
  const layout where_;
  const costs costs_;
  const double begin_s_;
  std::vector<std::int32_t> needs_;
  // By node. For a message: when it was sent. For a task: when the message that released it was sent, -1 if a task did.
  std::vector<double> cause_s_;
  std::deque<core_queue> cores_;  // by host
  std::vector<s4u::Host*> hosts_;
  std::vector<crew> crews_;
  time_book book_;
  std::size_t left_;
  std::vector<network_card> cards_;
  s4u::SemaphorePtr done_ = s4u::Semaphore::create(0);
  replayed out_;
};

// True if the node belongs to the program's work. A message does if the node that it releases does.
bool replay_run::is_work(node_id n) const {
  if (g_[n].kind != node_kind::message) return g_[n].kind == node_kind::work;
  const auto next = g_.after(n);
  return next.empty() || g_[next.front()].kind == node_kind::work;
}

void replay_run::place_first_tasks() {
  for (node_id n = static_cast<node_id>(g_.size()); n-- > 0;) {
    if (needs_[n] != 0) continue;
    PLX_ASSERT(g_[n].kind != node_kind::message, n);
    crews_[g_[n].where].add_task(0, n);
  }
}

// Idle workers take tasks as long as there are any.
void replay_run::wake(int l) {
  while (crews_[l].has_work()) {
    const int worker = crews_[l].wake();
    if (worker < 0) return;
    book_.woke(l * where_.workers + worker, now());
    go_on(l, worker);
  }
}

void replay_run::go_on(int l, int worker) {
  const node_id n = crews_[l].next(worker);
  if (n != no_node) return take(l, worker, n);
  crews_[l].add_idle(worker);
  book_.idles(l * where_.workers + worker, now());
}

void replay_run::take(int l, int worker, node_id n) {
  if (is_work(n)) book_.judge(l * where_.workers + worker, cause_s_[n]);
  crews_[l].cores().acquire([this, l, worker, n, requested_s = now()] {
    book_.core(now() - requested_s);
    run(l, worker, n);
  });
}

void replay_run::run(int l, int worker, node_id n) {
  const node& what = g_[n];
  const double slow = slowness(l);
  if (what.kind == node_kind::message) {
    const double each = costs_.receive_s + costs_.of(what.bytes / what.parts).receive_s;
    const double cost = slow * (what.parts * each + what.bytes * costs_.receive_s_per_byte);
    book_.overhead(cost);
    return after(cost, [this, l, worker, n] { received(l, worker, n); });
  }
  const double work = slow * what.work_s, cost = slow * (costs_.task_s + what.bytes * costs_.send_s_per_byte);
  book_.work(work);
  book_.overhead(cost);
  ++out_.tasks;
  after(work + cost, [this, l, worker, n] { task_ended(l, worker, n); });
}

void replay_run::release(int worker, node_id n, double sent_s, std::vector<node_id>& messages) {
  const auto next = g_.after(n);
  for (std::size_t i = next.size(); i-- > 0;) {  // the edge added first becomes the newest task, which is taken first
    if (--needs_[next[i]] != 0) continue;
    if (g_[next[i]].kind == node_kind::message) {
      messages.push_back(next[i]);
      continue;
    }
    cause_s_[next[i]] = sent_s;
    crews_[g_[next[i]].where].add_task(worker, next[i]);
  }
}

void replay_run::task_ended(int l, int worker, node_id n) {
  if (g_[n].kind == node_kind::work) book_.worked(l, now());
  std::vector<node_id> messages;
  release(worker, n, -1.0, messages);
  node_ended();
  send(l, worker, std::move(messages));
  wake(l);
}

void replay_run::send(int l, int worker, std::vector<node_id> messages) {
  if (messages.empty()) {
    crews_[l].cores().release();
    return go_on(l, worker);
  }
  const node_id m = messages.back();
  messages.pop_back();
  const double cost = slowness(l) * g_[m].parts * (costs_.send_s + costs_.of(g_[m].bytes / g_[m].parts).send_s);
  book_.overhead(cost);
  after(cost, [this, l, worker, m, rest = std::move(messages)]() mutable {
    cause_s_[m] = now();
    cards_[l].outbox.push_back(m);
    cards_[l].filled->release();
    send(l, worker, std::move(rest));
  });
}

void replay_run::received(int l, int worker, node_id message) {
  std::vector<node_id> messages;
  release(worker, message, cause_s_[message], messages);
  PLX_ASSERT(messages.empty(), message);
  node_ended();
  crews_[l].cores().release();
  go_on(l, worker);
  wake(l);
}

void replay_run::node_ended() {
  if (--left_ == 0) done_->release();
}

void replay_run::arrive_after(double seconds, node_id m) {
  after(seconds, [this, m, receiver = g_[m].to] {
    crews_[receiver].add_message(m);
    wake(receiver);
  });
}

// Messages are sent one at a time; the latency of one overlaps the sending of the next.
void replay_run::carry(int l) {
  for (;;) {
    cards_[l].filled->acquire();
    const node_id m = cards_[l].outbox.front();
    cards_[l].outbox.pop_front();
    const node& message = g_[m];
    s4u::Host *from = hosts_[l], *to = hosts_[message.to];
    out_.messages += message.parts;
    out_.bytes += message.bytes;
    if (from == to && !costs_.by_size.empty()) {
      arrive_after(costs_.of(message.bytes / message.parts).flight_s, m);
      continue;
    }
    std::vector<s4u::Link*> links;
    double latency_s = 0.0;
    from->route_to(to, links, &latency_s);
    s4u::Comm::sendto(from, to, static_cast<std::uint64_t>(std::max(1.0, message.bytes)));
    arrive_after(latency_s, m);
  }
}

replayed replay_run::go() {
  if (left_ == 0) return out_;
  std::vector<bool> sends(crews_.size(), false);
  for (node_id n = 0; n < g_.size(); ++n)
    if (g_[n].kind == node_kind::message) sends[g_[n].where] = true;
  for (std::size_t l = 0; l < crews_.size(); ++l)
    if (sends[l]) s4u::Actor::create("network card", hosts_[l], [this, l] { carry(static_cast<int>(l)); })->daemonize();
  s4u::Actor::create("end", hosts_[0], [this] { done_->acquire(); });
  place_first_tasks();
  after(0.0, [this] {
    for (std::size_t l = 0; l < crews_.size(); ++l) wake(static_cast<int>(l));
  });
  s4u::Engine::get_instance()->run();
  out_.time_s = now() - begin_s_;
  out_.use = book_.close(now());
  return out_;
}

}  // namespace

message_cost costs::of(double bytes) const {
  const std::size_t n = by_size.size();
  if (n == 0) return {};
  if (n == 1 || bytes <= by_size.front().bytes) return by_size.front();
  std::size_t above = 1;
  while (above + 1 < n && by_size[above].bytes < bytes) ++above;
  const message_cost &a = by_size[above - 1], &b = by_size[above];
  const double t = (bytes - a.bytes) / (b.bytes - a.bytes);
  const auto at = [t](double x, double y) { return std::max(0.0, x + t * (y - x)); };
  return {bytes, at(a.send_s, b.send_s), at(a.receive_s, b.receive_s), at(a.flight_s, b.flight_s)};
}

// ------------------------------------------------------------------------------------------------------------ platform

struct platform::impl {
  std::unique_ptr<s4u::Engine> engine;
  std::vector<s4u::Host*> hosts;
};

platform::platform(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
platform::platform(platform&&) noexcept = default;
platform::~platform() = default;

int platform::hosts() const { return static_cast<int>(impl_->hosts.size()); }

namespace {

// Flows get the bandwidth given by the platform, shared fairly. The latency is added by carry(), so that it does not
// delay the next message; hence factor 0 here.
constexpr const char* settings[] = {"network/model:CM02",
                                    "network/bandwidth-factor:1",
                                    "network/latency-factor:0",
                                    "network/weight-S:0",
                                    "network/TCP-gamma:0",
                                    "network/crosstraffic:no",
                                    "network/maxmin-selective-update:yes",
                                    "surf/precision:1e-12",
                                    "contexts/stack-size:64",
                                    "contexts/guard-size:0"};

// Orders node-2 before node-10.
bool by_number(const s4u::Host* a, const s4u::Host* b) {
  const std::string &x = a->get_name(), &y = b->get_name();
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

}  // namespace

result<platform> platform::load(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0)
    return error{fmt::format("{}: cannot be read; expected a platform file of SimGrid (apps/scale/platforms)", path)};
  char name[] = "plx-scale", quiet[] = "--log=root.thresh:critical";
  char* arguments[] = {name, quiet, nullptr};
  int count = 2;
  auto made = std::make_unique<impl>();
  try {
    made->engine = std::make_unique<s4u::Engine>(&count, arguments);
    for (const char* s : settings) s4u::Engine::set_config(s);
    made->engine->load_platform(path);
  } catch (const std::exception& e) {
    return error{fmt::format("{}: {}", path, e.what())};
  }
  made->hosts = made->engine->get_all_hosts();
  if (made->hosts.empty()) return error{path + ": has no hosts; expected at least one"};
  std::sort(made->hosts.begin(), made->hosts.end(), by_number);
  return platform(std::move(made));
}

result<replayed> platform::run(const work_graph& g, const layout& where, const costs& c) {
  const int needed = (g.localities() + where.per_host - 1) / where.per_host;
  if (needed > hosts())
    return error{fmt::format("{}, {} to a host: expected {}, the platform has {}", plural(g.localities(), "locality"),
                             where.per_host, plural(needed, "host"), hosts())};
  return replay_run(impl_->hosts, g, where, c).go();
}

}  // namespace plx::scale
