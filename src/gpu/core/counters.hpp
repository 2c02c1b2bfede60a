// The counters of a device in its runtime's registry: /gpu{locality#0/device#0}/...
//
// They are registered when counters are first requested from the runtime and live as long as the runtime; the device
// may be destroyed earlier. The door forwards to the device while it exists, and then returns its final values.
#pragma once

#include <memory>
#include <mutex>

#include "gpu/core/device_core.hpp"

namespace plx::gpu::detail {

class counter_door {
 public:
  explicit counter_door(device_core& d);
  /// Called when the device is destroyed: keeps its final values.
  void close();
  [[nodiscard]] device_counts counts();
  [[nodiscard]] memory_counts memory(memory_kind kind);
  [[nodiscard]] probe::device_times times();
  [[nodiscard]] int index() const noexcept { return index_; }

 private:
  std::mutex lock_;
  device_core* device_;
  const int index_;
  const std::string name_;  // the device's name in traces
  const probe::device_lanes& lanes_;
  device_counts last_;
  memory_counts last_memory_[2];
};

/// Adds the counters of the device to its runtime.
std::shared_ptr<counter_door> open_counter_door(device_core& d);

}  // namespace plx::gpu::detail
