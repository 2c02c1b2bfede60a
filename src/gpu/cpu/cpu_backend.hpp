// The reference backend: devices that are threads of this process. Always available; other backends are compared with
// it.
//
// Each device has one thread, which runs the entries of its streams one at a time, so work is pending for some time as
// on other devices. A *stepped* device has no thread: calls of query and synchronize sometimes run an entry, as its
// seed decides; with a deterministic runtime the whole program is then reproducible. Tests can inject failures.
// Thread safety: all functions. Example: gpu/core/test/backend_test.cpp, gpu/test/failure_test.cpp
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/backend.hpp"

namespace plx::gpu::cpu {

/// Error codes of this backend.
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

/// Behaviour of the devices.
struct options {
  int devices = 1;
  std::size_t memory_bytes = std::size_t{1} << 34;  // limit of the allocations on a device, and of pinned memory
  std::size_t group_bytes = 0;                      // device_info::group_bytes
  double delay_s = 0;                               // additional time of each stream entry
  double clock_rate = 1;  // if not 1, the devices have their own clock, faster than the host's by this factor
  bool stepped = false;
  std::uint64_t seed = 1;  // for stepped devices
  code count_fails = ok;   // result of count() and open()
};

/// The backend of programs: one device without injected failures.
const backend& table() noexcept;

/// A separate backend for a test, whose devices can be made to fail. Must outlive them.
class testing_backend {
 public:
  explicit testing_backend(options o);
  ~testing_backend();
  testing_backend(const testing_backend&) = delete;
  testing_backend& operator=(const testing_backend&) = delete;

  [[nodiscard]] const backend& get() const noexcept;

  /// The call of that name ("launch", "record", "allocate", "copy", ...) on any device succeeds `after` more times, and
  /// then fails with `c` `times` times.
  void fail_call(const char* call, code c, unsigned after = 0, unsigned times = 1);
  /// Device `index` is lost: all work in its streams stops, and every call returns device_lost.
  void lose(int index);
  /// Holds or releases the entries of all streams, so that a test can observe pending work.
  void hold(bool on);
  /// Bytes currently allocated, of both kinds.
  [[nodiscard]] std::size_t allocated_bytes() const noexcept;
  /// Kernel launches, and the items in them.
  [[nodiscard]] std::uint64_t launches() const noexcept;
  [[nodiscard]] std::uint64_t items() const noexcept;

  struct shared;

 private:
  std::unique_ptr<shared> shared_;
};

}  // namespace plx::gpu::cpu
