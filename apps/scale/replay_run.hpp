// One replay on hosts that are there. Inside scale only: replay.hpp is for others.
#pragma once

#include <simgrid/forward.h>

#include <vector>

#include "replay.hpp"

namespace plx::scale {

/// Requires: hosts enough; g.finish(); no circle in it.
replayed replay_on(const std::vector<simgrid::s4u::Host*>& hosts, const work_graph& g, const layout& where,
                   const costs& c);

}  // namespace plx::scale
