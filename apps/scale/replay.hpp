// Replays a work_graph on a platform of SimGrid: workers take tasks, tasks send messages, messages cross the network.
//
// The complete model:
// - Locality l is on host l / per_host; it has `workers` workers. A worker with a task takes a core of its host, for
// one
//   task at a time; the cores of a host are granted in FIFO order.
// - A task takes its seconds times (reference speed / speed of its host), plus `task_s`, plus the cost of copying data
//   into messages. The last task that a message depends on pays for sending it, before anything else.
// - The messages of a locality are sent one at a time: each crosses the links at the bandwidth that other flows leave
//   (SimGrid), and arrives the route's latency after its last byte was sent. With costs by size, messages between
//   localities of one host take those times instead: the cores copy them.
// - The receiver of a message pays for it before other tasks; then the tasks that depend on it may start. Among ready
//   tasks the newest is first (stage by stage the youngest data), as in the runtime.
//
// Thread safety: none; one platform in a process (SimGrid's engine is global). Cost: about 2 us per task, 10 per
// message. Example: replay_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "work_graph.hpp"

namespace plx::scale {

/// Measured cost of a message of `bytes`, in addition to the costs of every message.
struct message_cost {
  double bytes = 0.0;
  double send_s = 0.0, receive_s = 0.0;  ///< core time
  double flight_s = 0.0;                 ///< from the end of sending to the start of receiving, inside a host
};

/// Costs of messages and tasks for their senders, receivers and workers, on a core of the measuring machine.
struct costs {
  double send_s = 0.0;                ///< per message, sender
  double receive_s = 0.0;             ///< per message, receiver
  double send_s_per_byte = 0.0;       ///< copying into it
  double receive_s_per_byte = 0.0;    ///< copying out of it
  double task_s = 0.0;                ///< per task: finding and starting it
  std::vector<message_cost> by_size;  ///< ascending in bytes; linear between entries, extrapolated beyond

  message_cost of(double bytes) const;
};

/// The placement of localities on hosts.
struct layout {
  int workers = 1;               ///< per locality
  int per_host = 1;              ///< localities on a host
  double reference_speed = 1e9;  ///< of the measuring machine, in the platform's flop/s
};

/// Seconds of all workers, by activity or reason for waiting. The sum is workers x localities x time.
struct time_use {
  double work = 0.0;       ///< tasks
  double overhead = 0.0;   ///< sending, receiving, starting tasks
  double core = 0.0;       ///< had a task, but other workers used the host's cores
  double local = 0.0;      ///< too few ready tasks: the next ones waited for this locality
  double late = 0.0;       ///< a message that its sender had not sent yet
  double network = 0.0;    ///< a message in transit
  double imbalance = 0.0;  ///< finished, other localities are not
  double reduction = 0.0;  ///< all have finished, the reduction is in progress

  double sum() const { return work + overhead + core + local + late + network + imbalance + reduction; }
};

/// The result of a replay.
struct replayed {
  double time_s = 0.0;
  time_use use;
  std::uint64_t tasks = 0;
  std::uint64_t messages = 0;  ///< counting parts
  double bytes = 0.0;          ///< of messages
};

/// Hosts and links.
class platform {
 public:
  /// Reads SimGrid's XML. Once per process.
  static result<platform> load(const std::string& path);
  platform(platform&&) noexcept;
  ~platform();

  int hosts() const;
  /// Replays the graph from its own time zero; may be called repeatedly. Requires: g.finish(); no cycle in the graph.
  result<replayed> run(const work_graph& g, const layout& where, const costs& c);

 private:
  struct impl;
  explicit platform(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

}  // namespace plx::scale
