// plx-scale: replays one step of a measured run of plx-star, or the end of a job and the loss of a locality, on a
// simulated machine, and prints the result as JSON.
//
// Exit codes: 0 success; 2 invalid input, with one line on stderr.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "base/text.hpp"
#include "console.hpp"
#include "job_events.hpp"
#include "replay.hpp"
#include "step_graph.hpp"
#include "workload.hpp"

namespace {

using namespace plx;
using namespace plx::scale;
using app::complain;

struct command_line {
  std::vector<std::string> workloads;
  std::string platform;
  int localities = 1;
  std::vector<int> copies{1, 1, 1};
  bool separate = false, all_to_all = false, events = false;
  exchange how;
  layout where;
  costs cost;
  std::vector<double> by_size;
};

void declare(CLI::App& app, command_line& c) {
  const CLI::Range some(1, 1 << 20);
  const CLI::Range seconds(0.0, 1.0);
  app.add_option("workload", c.workloads,
                 "measured workload (TOML, written by ./plx scale); prints a line of JSON for each");
  app.add_flag("--events", c.events, "the end of a job and the loss of a locality instead of a workload");
  app.add_option("--platform", c.platform, "hosts and links (XML of SimGrid)")->required();
  app.add_option("--localities", c.localities, "number of processes")->check(some);
  app.add_option("--workers", c.where.workers, "workers per locality")->check(some);
  app.add_option("--per-host", c.where.per_host, "localities per host")->check(some);
  app.add_option("--copies", c.copies, "copies of the run side by side along x, y, z")->expected(3)->check(some);
  app.add_flag("--separate", c.separate, "no coalescing: a message per block, neighbour and stage");
  app.add_flag("--all-to-all", c.all_to_all,
               "reductions send a message from every locality to every other instead of pairwise");
  app.add_option("--group-bytes", c.how.group_bytes, "a coalesced message holds at most this, or one block");
  app.add_option("--seed", c.how.seed, "seed of the jitter of single tasks");
  app.add_option("--send-s", c.cost.send_s, "sender's seconds per message")->check(seconds);
  app.add_option("--receive-s", c.cost.receive_s, "receiver's seconds per message")->check(seconds);
  app.add_option("--send-s-per-byte", c.cost.send_s_per_byte, "sender's seconds per byte")->check(seconds);
  app.add_option("--receive-s-per-byte", c.cost.receive_s_per_byte, "receiver's seconds per byte")->check(seconds);
  app.add_option("--by-size", c.by_size, "bytes, and seconds to send, to receive, in transit within a host; ascending")
      ->expected(4, 4000);
  app.add_option("--task-s", c.cost.task_s, "seconds per task in addition to its work: finding and starting it")
      ->check(seconds);
}

std::string json(const char* name, double weight, const replayed& r) {
  const time_use& u = r.use;
  return fmt::format(
      "{{\"name\": \"{}\", \"weight\": {}, \"time_s\": {}, \"tasks\": {}, \"messages\": {}, \"bytes\": {}, "
      "\"use_s\": {{\"work\": {}, \"overhead\": {}, \"core\": {}, \"local\": {}, \"late\": {}, \"network\": {}, "
      "\"imbalance\": {}, \"reduction\": {}}}}}",
      name, weight, r.time_s, r.tasks, r.messages, r.bytes, u.work, u.overhead, u.core, u.local, u.late, u.network,
      u.imbalance, u.reduction);
}

result<void> read_by_size(command_line& c) {
  for (std::size_t i = 0; i < c.by_size.size(); i += 4) {
    if (i + 4 > c.by_size.size()) return error{fmt::format("--by-size: expected fours, found {}", c.by_size.size())};
    const message_cost m{c.by_size[i], c.by_size[i + 1], c.by_size[i + 2], c.by_size[i + 3]};
    const bool rises = c.cost.by_size.empty() || c.cost.by_size.back().bytes < m.bytes;
    if (!rises || !(std::min({m.bytes, m.send_s, m.receive_s, m.flight_s}) >= 0.0))
      return error{fmt::format("--by-size: expected rising bytes and seconds of 0 or more, found {}", m.bytes)};
    c.cost.by_size.push_back(m);
  }
  return {};
}

result<std::string> replay_all(const command_line& c, const std::string& path, platform& machine) {
  auto one = read_workload(path);
  if (!one) return one.error();
  const workload all = mirrored(*one, {c.copies[0], c.copies[1], c.copies[2]});
  if (static_cast<std::size_t>(c.localities) > all.blocks.size())
    return error{fmt::format("{} for {}: each needs one; ask for more --copies",
                             plural(static_cast<std::uint64_t>(c.localities), "locality"),
                             plural(all.blocks.size(), "block"))};
  if (auto fine = check_parts(all, c.localities); !fine)
    return error{fmt::format("{}: {}", path, fine.error().message)};
  const distributed_run run(all, c.localities, c.how);
  std::string phases;
  const auto replay = [&](const char* name, double weight, const work_graph& g) -> result<void> {
    const auto r = machine.run(g, c.where, c.cost);
    if (!r) return r.error();
    phases += (phases.empty() ? "" : ", ") + json(name, weight, *r);
    return {};
  };
  if (auto r = replay("stepping", 1.0, run.stepping()); !r) return r.error();
  if (auto r = replay("summing", 1.0, run.summing()); !r) return r.error();
  if (auto r = replay("looking", 1.0 / all.steps_per_look, run.looking()); !r) return r.error();
  if (auto r = replay("changing", all.changes_per_look / all.steps_per_look, run.changing()); !r) return r.error();
  return fmt::format(
      "{{\"localities\": {}, \"workers\": {}, \"per_host\": {}, \"blocks\": {}, \"coalesced\": {}, \"phases\": "
      "[{}]}}\n",
      c.localities, c.where.workers, c.where.per_host, all.blocks.size(), c.how.coalesced, phases);
}

result<std::string> replay_events(const command_line& c, platform& machine) {
  std::string all;
  for (const job_event e : job_events) {
    const work_graph g = graph_of(e, c.localities);
    const auto r = machine.run(g, c.where, c.cost);
    if (!r) return r.error();
    const message_counts m = count_messages(g);
    all += fmt::format(
        "{}{{\"name\": \"{}\", \"time_s\": {}, \"messages\": {}, \"most_sent\": {}, \"most_received\": {}}}",
        all.empty() ? "" : ", ", name_of(e), r->time_s, m.all, m.most_sent, m.most_received);
  }
  return fmt::format("{{\"localities\": {}, \"events\": [{}]}}\n", c.localities, all);
}

result<void> replay_each(command_line& c) {
  if (c.all_to_all && c.localities > 1024)
    return error{fmt::format("--all-to-all of {} localities is {} messages: expected at most 1024", c.localities,
                             static_cast<std::int64_t>(c.localities) * (c.localities - 1))};
  if (auto fine = read_by_size(c); !fine) return fine.error();
  auto machine = platform::load(c.platform);
  if (!machine) return machine.error();
  if (c.events) {
    if (c.localities < 3) return error{fmt::format("--events of {} localities: expected at least 3", c.localities)};
    const auto text = replay_events(c, *machine);
    return text ? write_stdout(*text) : text.error();
  }
  for (const std::string& path : c.workloads) {
    const auto text = replay_all(c, path, *machine);
    if (!text) return text.error();
    if (auto written = write_stdout(*text); !written) return written.error();
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  app::start_console("plx-scale");
  CLI::App options(
      "Replays one step of a measured run of plx-star on a simulated machine; prints JSON (docs/scale.md).");
  command_line c;
  declare(options, c);
  try {
    options.parse(argc, argv);
    if (c.events == !c.workloads.empty()) throw CLI::ValidationError("expected workloads, or --events");
  } catch (const CLI::ParseError& e) {
    return app::exit_of_parse(options, e);
  }
  c.how.coalesced = !c.separate;
  c.how.pairwise = !c.all_to_all;
  if (const auto done = replay_each(c); !done) return complain(done.error().message);
  return 0;
}
