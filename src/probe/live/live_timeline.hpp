// What devices did while the live page is read, as rows of a timeline. Those of workers are read from their rings while
// the timeline is made (live_json.hpp).
//
// Thread safety: everything. Cost: a copy of the operations since `from`. Example: session/test/live_server_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::probe {

/// The pieces of the last seconds, of a worker or of a lane of a device.
struct recent_work {
  std::vector<trace_slice> slices{};  // in order of time
  ticks known_from = 0;               // what was before, newer pieces have taken the place of
  std::string lane{};
};

/// By lane, in order of device and lane. Somebody looks, so the operations of the next seconds are kept, too.
std::vector<recent_work> recent_lanes(recorder& r, ticks from);

}  // namespace plx::probe
