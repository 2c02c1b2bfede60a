// The network of a simulation: messages between localities of one process, on a virtual clock. The seed decides how
// long each is on its way, which overtake each other, and when a locality dies.
//
// What it checks of its users: memory that was handed over must not change before `sent`.
//
// Thread safety: none; whoever has the turn on the stage, or one thread while no run goes on. Cost: a copy of each
// message and a heap. Example: net/sim/test/sim_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/locality.hpp"
#include "net/sim/stage.hpp"
#include "net/transport/transport.hpp"

namespace plx::net {

/// Nanoseconds of simulated time; 0 for a time that is not positive.
ticks ns_from(double s);

// What a simulation is like. A plain struct: set what differs from the defaults. All times are virtual.

/// A locality that dies by itself, at a moment between these two, which the seed chooses.
struct sim_death {
  locality_id locality = 0;
  double earliest_s = 0;
  double latest_s = 0;
};

/// Of net::simulation and of net::sim_network.
struct sim_options {
  unsigned localities = 2;
  unsigned workers = 2;  ///< virtual ones of each locality
  std::uint64_t seed = 1;
  double delay_min_s = 1e-6;  ///< a message is on its way at least so long
  double delay_max_s = 50e-6;
  bool reorder = true;            ///< a message may overtake another one between the same two
  double late_sent = 0.25;        ///< how probable it is that `sent` comes later, and pieces later than their head
  double detection_min_s = 1e-3;  ///< a death is seen by others after so long
  double detection_max_s = 10e-3;
  std::vector<sim_death> deaths{};
  std::size_t max_head_bytes = 8192;
  double step_max_s = 1e-6;   ///< what one step of a scheduler takes at most
  double time_limit_s = 1e5;  ///< a run that goes on longer is ended as one that cannot go on
  bool keep_log = false;      ///< of what happens in the network
};

/// What went through a simulated network.
struct sim_counts {
  std::uint64_t sent = 0;         ///< send() was called
  std::uint64_t delivered = 0;    ///< a receiver was called
  std::uint64_t of_the_dead = 0;  ///< from or to a locality that had died
};

class sim_network {
 public:
  /// Requires: `s` has as many seats as options.localities, and outlives the network.
  sim_network(stage& s, sim_options options);
  ~sim_network();
  sim_network(const sim_network&) = delete;
  sim_network& operator=(const sim_network&) = delete;

  /// The transport of one locality; once for each. Must go before the network does.
  std::unique_ptr<transport> transport_of(locality_id here);
  /// From now on nothing comes from there and nothing reaches it. What is under way from there may still arrive until
  /// the others have seen it.
  void kill(locality_id which);
  [[nodiscard]] bool alive(locality_id which) const noexcept;
  /// Messages that have not arrived yet, or whose `sent` has not come.
  [[nodiscard]] std::size_t under_way() const noexcept;
  [[nodiscard]] const sim_counts& counts() const noexcept { return counts_; }
  /// One line per event, if keep_log is set: virtual nanoseconds, what, from, to, bytes.
  [[nodiscard]] const std::vector<std::string>& log() const noexcept { return log_; }

 private:
  class carrier;
  struct message;
  struct event;
  struct mailbox;

  void send(locality_id from, locality_id to, outgoing& m) noexcept;
  void carry(locality_id from, locality_id to, const std::shared_ptr<message>& m);
  void book(locality_id at, event e);
  void tell_when(locality_id at) noexcept;
  bool next_event(locality_id at);
  void deliver(locality_id at, event& e);
  void stop(locality_id at) noexcept;
  void forget_what_comes_to(locality_id dead);
  void forget_what_comes_from(locality_id dead, locality_id at, ticks until);
  void note(const char* what, locality_id from, locality_id to, std::size_t bytes);
  [[nodiscard]] ticks delay(double min_s, double max_s);

  stage& stage_;
  const sim_options options_;
  std::vector<std::unique_ptr<mailbox>> boxes_;  // by locality
  std::uint64_t next_number_ = 0;
  sim_counts counts_;
  std::vector<std::string> log_;
};

}  // namespace plx::net
