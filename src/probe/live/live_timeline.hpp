// Device operations as rows of the live page's timeline. Rows of workers are built from their rings when the timeline
// is requested (live_json.hpp).
//
// Thread safety: all functions are thread-safe. Cost: a copy of the operations since `from`. Example:
// session/test/live_server_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::probe {

/// The slices of the last seconds, of a worker or of a lane of a device.
struct recent_work {
  std::vector<trace_slice> slices{};  // in order of time
  ticks known_from = 0;               // earlier slices have been overwritten
  std::string lane{};
};

/// The recent operations by lane, in order of device and lane. Also keeps the operations of the next few seconds.
std::vector<recent_work> recent_lanes(recorder& r, ticks from);

}  // namespace plx::probe
