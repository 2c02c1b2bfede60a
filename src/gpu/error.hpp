// What goes wrong on a device, as an exception with the call, its code and the kernel.
//
// Thread safety: values. Example: gpu/core/test/stream_test.cpp
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace plx::gpu {

/// What kind of failure a backend's code stands for.
enum class failure : std::uint8_t {
  none,
  out_of_memory,   // of the device, or of pinned host memory
  no_driver,       // the driver of the devices is not installed
  driver_too_old,  // for the toolkit that this program was built with
  no_device,       // the driver finds none
  device_lost,     // nothing of this device works any more in this process: a kernel has crashed, or it is gone
  unsupported,     // the backend or the device cannot do that
  wrong_use,       // an argument that no device would take
  other,
};

/// "out of memory", "no driver", ...
std::string_view name_of(failure kind) noexcept;

/// Thrown, and held by the futures of what failed. what() is one line: backend, call, text, name and number of the
/// code, the kernel, the device, and what to do where that is known.
class error : public std::runtime_error {
 public:
  struct parts {
    failure kind = failure::other;
    int code = 0;              // the backend's
    std::string call = {};     // of the backend's library, such as "cudaEventQuery"
    std::string kernel = {};   // launched last before the failure was seen; "" when none was
    std::string message = {};  // what()
  };
  explicit error(parts p) : std::runtime_error(p.message), parts_(std::move(p)) {}

  [[nodiscard]] failure kind() const noexcept { return parts_.kind; }
  /// The backend's number.
  [[nodiscard]] int code() const noexcept { return parts_.code; }
  [[nodiscard]] const std::string& call() const noexcept { return parts_.call; }
  /// The operation whose launch failed, or that was launched last before an error of the device was seen.
  [[nodiscard]] const std::string& kernel() const noexcept { return parts_.kernel; }

 private:
  parts parts_;
};

}  // namespace plx::gpu
