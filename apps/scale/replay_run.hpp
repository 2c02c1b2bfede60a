// One replay on existing hosts. Internal to scale: others use replay.hpp.
#pragma once

#include <simgrid/forward.h>

#include <vector>

#include "replay.hpp"

namespace plx::scale {

/// Requires: enough hosts; g.finish(); no cycle in the graph.
replayed replay_on(const std::vector<simgrid::s4u::Host*>& hosts, const work_graph& g, const layout& where,
                   const costs& c);

}  // namespace plx::scale
