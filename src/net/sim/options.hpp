// What a simulation is like. A plain struct: set what differs from the defaults. All times are virtual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "net/locality_id.hpp"

namespace plx::net {

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

}  // namespace plx::net
