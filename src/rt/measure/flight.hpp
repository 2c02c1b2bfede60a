// The runtime's part of the flight recorder: what its workers are doing, and when a file is written.
//
// Thread safety: one object per runtime, created after its scheduler. Cost: nothing until a file is written.
// Example: tests/flight/.
#pragma once

#include <optional>
#include <string>

#include "probe/crash/flight_dump.hpp"

namespace plx {
namespace probe {
struct settings;
}
namespace detail {

class scheduler;

class flight_watch {
 public:
  /// Does nothing if `s.flight` is 0. Throws std::invalid_argument for an invalid signal.
  flight_watch(const scheduler& workers, const probe::recorder& r, const probe::settings& s);

 private:
  std::string folder_;
  std::optional<probe::flight_registration> registration_;
  std::optional<probe::flight_signals> signals_;
};

}  // namespace detail
}  // namespace plx
