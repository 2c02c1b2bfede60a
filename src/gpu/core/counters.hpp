// The counters of a device in its runtime's registry: /gpu{locality#0/device#0}/...
//
// They are registered when somebody asks the runtime for counters, and go with the runtime; the device may go before.
// Behind the door stands the device while it lives, afterwards what it had counted at its end.
#pragma once

#include <memory>
#include <mutex>

#include "gpu/core/device_core.hpp"

namespace plx::gpu::detail {

class counter_door {
 public:
  explicit counter_door(device_core& d);
  /// The device goes: its last counts stay.
  void close();
  [[nodiscard]] device_counts counts();
  [[nodiscard]] memory_counts memory(memory_kind kind);
  [[nodiscard]] probe::device_times times();
  [[nodiscard]] int index() const noexcept { return index_; }

 private:
  std::mutex lock_;
  device_core* device_;
  const int index_;
  const std::string name_;  // of the device in traces
  const probe::device_lanes& lanes_;
  device_counts last_;
  memory_counts last_memory_[2];
};

/// The counters of the device become known to its runtime.
std::shared_ptr<counter_door> open_counter_door(device_core& d);

}  // namespace plx::gpu::detail
