#include "probe/live/recent_slices.hpp"

#include <utility>

#include "probe/device_lanes.hpp"

namespace plx::probe {

std::vector<recent_work> recent_lanes(recorder& r, ticks from) {
  r.devices().look();
  std::vector<recent_work> lanes;
  for (recent_operations& o : r.devices().recent(from))
    lanes.push_back({.slices = std::move(o.slices), .known_from = o.known_from, .lane = std::move(o.lane)});
  return lanes;
}

}  // namespace plx::probe
