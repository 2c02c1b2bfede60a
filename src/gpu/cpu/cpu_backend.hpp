// The reference backend: devices that are threads of this process. Always there; what every other one is compared with.
//
// Each device has one thread, which runs what lies in its streams, one entry after another, so that work is really
// seen to be not ready yet. A *stepped* device has none: whoever asks (query, synchronize) runs an entry now and then,
// as its seed decides; with a deterministic runtime a whole program is then the same in every run. For tests a device
// can be told to fail. Thread safety: everything. Example: gpu/core/test/backend_test.cpp, gpu/test/failure_test.cpp
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/backend.hpp"

namespace plx::gpu::cpu {

/// Codes of this backend.
enum code : int {
  ok,
  item_failed,
  out_of_memory,
  device_lost,
  no_driver,
  driver_too_old,
  no_device,
  invalid,
  no_kernel
};

/// How the devices behave.
struct options {
  int devices = 1;
  std::size_t memory_bytes = std::size_t{1} << 34;  // what one device, and pinned memory, may have allocated
  std::size_t group_bytes = 0;                      // device_info::group_bytes
  double delay_s = 0;                               // each entry of a stream takes so much longer
  double clock_rate = 1;  // another one: the devices have a clock of their own, and it goes so much faster than ours
  bool stepped = false;
  std::uint64_t seed = 1;  // of stepped devices
  code count_fails = ok;   // what count() and open() say
};

/// The backend that programs use: one device without faults.
const backend& table() noexcept;

/// A backend of its own for a test, with devices that can be made to fail. It must outlive them.
class testing_backend {
 public:
  explicit testing_backend(options o);
  ~testing_backend();
  testing_backend(const testing_backend&) = delete;
  testing_backend& operator=(const testing_backend&) = delete;

  [[nodiscard]] const backend& get() const noexcept;

  /// The call of that name ("launch", "record", "allocate", "copy", ...; any device) fails with `c` after it has
  /// succeeded `after` more times; `times` times in a row.
  void fail_call(const char* call, code c, unsigned after = 0, unsigned times = 1);
  /// Device `index` is gone from now on: all that lies in its streams stops, every call says device_lost.
  void lose(int index);
  /// Entries wait, or go on: so that a test can look at work that is not done.
  void hold(bool on);
  /// Bytes that are allocated now, of both kinds.
  [[nodiscard]] std::size_t allocated_bytes() const noexcept;
  /// Kernel launches so far, and items in them.
  [[nodiscard]] std::uint64_t launches() const noexcept;
  [[nodiscard]] std::uint64_t items() const noexcept;

  struct shared;

 private:
  std::unique_ptr<shared> shared_;
};

}  // namespace plx::gpu::cpu
