// Replays a work_graph on a platform of SimGrid: workers take tasks, tasks send messages, messages cross the network.
//
// The complete model:
// - Locality l is on host l / per_host; it has `workers` workers. A worker that has something to do takes a core of its
//   host, for one task at a time; the host's cores are granted in FIFO order.
// - A task takes its seconds times (reference speed / speed of its host), plus `task_s`, plus what it copies into
//   messages. The last task that a message waited for pays for sending it, before anything else.
// - A locality's messages go out one after the other: each crosses the links at the bandwidth that the other flows
//   leave it (SimGrid), and arrives the route's latency after its last byte left. Where costs by size are given, those
//   between localities of one host take the time given there: the cores copy them.
// - The receiver of a message pays for it before other tasks; then the tasks that waited for it may start. Among ready
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
  double send_s = 0.0, receive_s = 0.0;  ///< of the cores
  double flight_s = 0.0;                 ///< from the end of sending to the begin of receiving, inside a host
};

/// Costs of messages and tasks for their senders, receivers and workers, on a core of the measuring machine.
struct costs {
  double send_s = 0.0;                ///< per message, sender
  double receive_s = 0.0;             ///< per message, receiver
  double send_s_per_byte = 0.0;       ///< copying into it
  double receive_s_per_byte = 0.0;    ///< copying out of it
  double task_s = 0.0;                ///< per task: finding and starting it
  std::vector<message_cost> by_size;  ///< of rising bytes; linear between them, the last ones' slope beyond

  message_cost of(double bytes) const;
};

/// How localities are laid out.
struct layout {
  int workers = 1;               ///< per locality
  int per_host = 1;              ///< localities on a host
  double reference_speed = 1e9;  ///< of the measuring machine, in the platform's flop/s
};

/// Seconds of all workers by what they did or waited for. The sum is workers x localities x time.
struct time_use {
  double work = 0.0;       ///< tasks
  double overhead = 0.0;   ///< sending, receiving, starting tasks
  double core = 0.0;       ///< had something to do, but others had the host's cores
  double local = 0.0;      ///< too few tasks ready: all that could run next waited for this locality
  double late = 0.0;       ///< a message that its sender had not sent yet
  double network = 0.0;    ///< a message on its way
  double imbalance = 0.0;  ///< done with all, others are not
  double reduction = 0.0;  ///< all are done, the reduction is on its way

  double sum() const { return work + overhead + core + local + late + network + imbalance + reduction; }
};

/// The result of a replay.
struct replayed {
  double time_s = 0.0;
  time_use use;
  std::uint64_t tasks = 0;
  std::uint64_t messages = 0;  ///< parts counted
  double bytes = 0.0;          ///< of messages
};

/// Hosts and links.
class platform {
 public:
  /// Reads SimGrid's XML. Once in a process.
  static result<platform> load(const std::string& path);
  platform(platform&&) noexcept;
  ~platform();

  int hosts() const;
  /// Replays the graph from a time zero of its own; any number of times. Requires: g.finish(); no circle in it.
  result<replayed> run(const work_graph& g, const layout& where, const costs& c);

 private:
  struct impl;
  explicit platform(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

}  // namespace plx::scale
