// A device used by a runtime: its streams, its memory, and the poller that detects completed work.
//
//   plx::runtime rt;
//   plx::gpu::device gpu(rt);                 // the first device of the preferred backend; `cpu` if there is no other
//   plx::gpu::stream s(gpu);
//   s.launch(add, add_item{x, y, z, n});
//   plx::future<void> done = s.future();      // ready when all work submitted to the stream so far is done
//
// Requires: the runtime outlives its devices; a device outlives its streams, buffers and executors.
// Thread safety: all functions except construction and destruction. Cost: opening a device takes up to a second.
// Polling queries the oldest pending completion of each busy stream (0.1 us each on CUDA), between tasks, on one worker
// at a time.
// Errors: gpu::error. After a device is lost, all of its futures hold that error and every call throws it.
// Example: gpu/core/test/stream_test.cpp, examples/
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>

#include "gpu/backend.hpp"

namespace plx {
class runtime;
}

namespace plx::gpu {

namespace detail {
class device_core;
}

/// How the completion of work in a stream is detected. poll: an event is recorded and queried. callback: the stream
/// calls a host function. flag: the stream writes a word of pinned memory. docs/gpu.md compares them.
enum class completion_way : std::uint8_t { poll, callback, flag };

struct device_options {
  completion_way way = completion_way::poll;  // default for stream.future()
  unsigned streams = 32;                      // number of streams over which executors distribute their launches
  bool recycle_streams = true;                // false: each gpu::stream creates a stream, to measure the cost
  bool recycle_buffers = true;                // false: returned to the device at once, which waits for their stream
  double shutdown_deadline_s = 30;            // how long the destructor waits for pending work
};

class device {
 public:
  /// Opens device `index` of the backend for tasks of `rt`. Errors: throws gpu::error with a message of one line: no
  /// driver, driver too old, no such device.
  device(runtime& rt, const backend& b, int index = 0, device_options o = {});
  /// Uses the backend that PLX_GPU_BACKEND names, by default the preferred one that has a device.
  explicit device(runtime& rt, int index = 0, device_options o = {});
  /// Waits for pending work until the deadline; futures that are not ready by then hold an error.
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  [[nodiscard]] const backend& get_backend() const noexcept;
  [[nodiscard]] runtime& get_runtime() const noexcept;
  [[nodiscard]] int index() const noexcept;
  [[nodiscard]] const device_info& info() const noexcept;
  /// "0 (NVIDIA H200)": for messages.
  [[nodiscard]] std::string_view label() const noexcept;
  [[nodiscard]] native_device native() const noexcept;
  /// The error that made the device unusable; null while it works.
  [[nodiscard]] std::exception_ptr lost() const noexcept;

  /// Waits until all work submitted to its streams so far is done. Can be called from tasks and external threads.
  void wait();

  /// For internal use.
  [[nodiscard]] detail::device_core& core() noexcept { return *core_; }

 private:
  std::unique_ptr<detail::device_core> core_;
};

/// Number of devices of the backend; 0 if it is not usable.
int device_count(const backend& b) noexcept;

}  // namespace plx::gpu
