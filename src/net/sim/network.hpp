// The network of a simulation: messages between localities of one process, on a virtual clock. The seed determines the
// delay of each message, their order, and when a locality dies or stalls, or the network falls apart.
//
// It checks its users: memory of a message must not change before `sent`.
//
// Thread safety: none; used by the thread whose turn it is, or by one thread between runs. Cost: a copy
// of each message and a heap. Example: net/sim/test/sim_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/locality.hpp"
#include "net/sim/sim_scheduler.hpp"
#include "net/transport/transport.hpp"

namespace plx::net {

/// Nanoseconds of simulated time; 0 for a time that is not positive.
ticks ns_from(double s);

// Options of a simulation. A plain struct: set what differs from the defaults. All times are virtual.

/// A locality dies at a time in this interval, chosen by the seed.
struct sim_kill {
  locality_id locality = 0;
  double earliest_s = 0;
  double latest_s = 0;
};

/// A locality is stopped for a while, as by SIGSTOP: what is sent to it waits.
struct sim_stall {
  locality_id locality = 0;
  double earliest_s = 0;
  double latest_s = 0;
  double lasts_s = 0;
};

/// Nothing arrives from these localities at the others, nor from the others here, until the partition is over; what is
/// sent meanwhile arrives then. A partition for ever (lasts_s = infinity) is detected as the loss of each other.
struct sim_partition {
  std::vector<locality_id> side;
  double earliest_s = 0;
  double latest_s = 0;
  double lasts_s = 0;
};

/// Options of net::simulation and of net::sim_network.
struct sim_options {
  unsigned localities = 2;
  unsigned spares = 0;   ///< the last of them (net/group/membership.hpp)
  unsigned workers = 2;  ///< virtual workers of each locality
  std::uint64_t seed = 1;
  double delay_min_s = 1e-6;  ///< shortest delay of a message
  double delay_max_s = 50e-6;
  bool reorder = true;            ///< a message may overtake another one between the same two localities
  double late_sent = 0.25;        ///< probability that `sent` is called late, and that pieces arrive after their head
  double detection_min_s = 1e-3;  ///< shortest time until a peer detects a death
  double detection_max_s = 10e-3;
  std::vector<sim_kill> kills{};
  std::vector<sim_stall> stalls{};
  std::vector<sim_partition> partitions{};
  std::size_t window_bytes = 0;    ///< bytes in flight from one locality to another, or one message; 0: no limit
  double receive_bytes_per_s = 0;  ///< the rate at which a locality can receive; 0: no limit
  std::size_t max_head_bytes = 8192;
  unsigned credits = 0;       ///< of each receiver (net/parcels/parcel_port.hpp); 0: few or many, chosen by the seed
  double step_max_s = 1e-6;   ///< maximum time of one scheduler step
  double time_limit_s = 1e5;  ///< a run that lasts longer ends like a deadlock
  bool keep_log = false;      ///< record network events
};

/// Statistics of a simulated network.
struct sim_counts {
  std::uint64_t sent = 0;                ///< send() was called
  std::uint64_t delivered = 0;           ///< a receiver was called
  std::uint64_t dropped = 0;             ///< dropped: from or to a locality that had died, or was cut off
  std::size_t most_in_flight_bytes = 0;  ///< from one locality to another
};

class sim_network {
 public:
  /// Requires: `s` has as many members as options.localities, and outlives the network.
  sim_network(sim_scheduler& s, sim_options options);
  ~sim_network();
  sim_network(const sim_network&) = delete;
  sim_network& operator=(const sim_network&) = delete;

  /// The transport of one locality; called once for each. It must be destroyed before the network.
  std::unique_ptr<transport> transport_of(locality_id here);
  /// Kills a locality: it no longer sends or receives. Its messages in flight may arrive until the others have detected
  /// the death.
  void kill(locality_id which);
  [[nodiscard]] bool alive(locality_id which) const noexcept;
  /// Messages that have not arrived, or whose `sent` has not been called.
  [[nodiscard]] std::size_t under_way() const noexcept;
  [[nodiscard]] const sim_counts& counts() const noexcept { return counts_; }
  /// One line per event, if keep_log is set: virtual nanoseconds, event, from, to, bytes.
  [[nodiscard]] const std::vector<std::string>& log() const noexcept { return log_; }

 private:
  class carrier;
  struct message;
  struct event;
  struct mailbox;
  struct partition {
    ticks begin = 0, end = 0;
    std::vector<locality_id> side;

    [[nodiscard]] bool parts(locality_id a, locality_id b) const noexcept;
  };

  void send(locality_id from, locality_id to, outgoing& m) noexcept;
  void carry(locality_id from, locality_id to, const std::shared_ptr<message>& m);
  void has_left(locality_id from, locality_id to, outgoing& m, const std::shared_ptr<message>& data, bool late);
  void has_arrived(locality_id from, locality_id to, std::size_t bytes);
  void empty_window(locality_id from, locality_id to, ticks when, bool ok);
  [[nodiscard]] ticks when_connected(locality_id from, locality_id to, ticks when);
  void begin_partition(const sim_partition& p);
  void schedule(locality_id at, event e);
  void expect_next(locality_id at) noexcept;
  bool next_event(locality_id at);
  void deliver(locality_id at, event& e);
  void stop(locality_id at) noexcept;
  void forget_what_comes_to(locality_id dead);
  void forget_what_comes_from(locality_id dead, locality_id at, ticks until);
  void note(const char* what, locality_id from, locality_id to, std::size_t bytes);
  [[nodiscard]] ticks delay(double min_s, double max_s);

  sim_scheduler& scheduler_;
  const sim_options options_;
  std::vector<std::unique_ptr<mailbox>> boxes_;  // by locality
  std::vector<partition> partitions_;
  std::uint64_t next_number_ = 0;
  sim_counts counts_;
  std::vector<std::string> log_;
};

}  // namespace plx::net
