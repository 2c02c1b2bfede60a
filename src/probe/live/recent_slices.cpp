#include "probe/live/recent_slices.hpp"

#include <utility>

#include "probe/device_lanes.hpp"
#include "probe/flight_ring.hpp"

namespace plx::probe {

std::vector<recent_work> recent_slices(const recorder& r, ticks from) {
  std::vector<recent_work> workers(r.worker_count());
  for (unsigned i = 0; i < workers.size(); ++i) {
    const flight_ring* ring = r.worker(i).flight();
    if (ring == nullptr) continue;
    const bool overwritten = ring->pushed() > ring->capacity();
    bool first = true;
    ring->read([&, &w = workers[i]](const trace_record& t) {
      if (std::exchange(first, false) && overwritten) w.known_from = t.begin;
      if (t.end <= from) return;
      w.slices.push_back({.begin = t.begin,
                          .end = t.end,
                          .key = t.key,
                          .name = t.name,
                          .finished = (t.flags & trace_record::finished) != 0,
                          .resumed = (t.flags & trace_record::resumed) != 0});
    });
  }
  return workers;
}

std::vector<recent_work> recent_lanes(recorder& r, ticks from) {
  r.devices().look();
  std::vector<recent_work> lanes;
  for (recent_operations& o : r.devices().recent(from))
    lanes.push_back({.slices = std::move(o.slices), .known_from = o.known_from, .lane = std::move(o.lane)});
  return lanes;
}

}  // namespace plx::probe
