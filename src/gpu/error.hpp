// Errors of devices: an exception with the failed call, its code and the kernel.
//
// Thread safety: values. Example: gpu/core/test/stream_test.cpp
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace plx::gpu {

/// The kind of failure that a backend's code stands for.
enum class failure : std::uint8_t {
  none,
  out_of_memory,   // of the device, or of pinned host memory
  no_driver,       // the device driver is not installed
  driver_too_old,  // older than the toolkit that this program was built with requires
  no_device,       // the driver finds no device, or none of this number
  device_lost,     // the device is unusable for the rest of the process: a kernel has crashed, or the device is gone
  unsupported,     // not supported by the backend or the device
  wrong_use,       // an argument that is invalid on every device
  other,
};

/// "out of memory", "no driver", ...
std::string_view name_of(failure kind) noexcept;

/// Thrown by calls, and held by futures of failed work. what() is one line: backend, call, text, name and number of the
/// code, the kernel, the device, and the remedy where it is known.
class error : public std::runtime_error {
 public:
  struct parts {
    failure kind = failure::other;
    int code = 0;              // of the backend's library
    std::string call = {};     // the library function, such as "cudaEventQuery"
    std::string kernel = {};   // the last one launched before the failure was detected, or ""
    std::string message = {};  // what()
  };
  explicit error(parts p) : std::runtime_error(p.message), parts_(std::move(p)) {}

  [[nodiscard]] failure kind() const noexcept { return parts_.kind; }
  /// The error code of the backend's library.
  [[nodiscard]] int code() const noexcept { return parts_.code; }
  [[nodiscard]] const std::string& call() const noexcept { return parts_.call; }
  /// The operation whose launch failed, or the last one launched before an error of the device was detected.
  [[nodiscard]] const std::string& kernel() const noexcept { return parts_.kernel; }

 private:
  parts parts_;
};

}  // namespace plx::gpu
