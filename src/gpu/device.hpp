// A device of a runtime: its streams, its memory, and the poller that sees what is done.
//
//   plx::runtime rt;
//   plx::gpu::device gpu(rt);                 // the first device of the best backend; the cpu where there is no other
//   plx::gpu::stream s(gpu);
//   s.launch(add, add_item{x, y, z, n});
//   plx::future<void> done = s.future();      // ready when all work so far in the stream is
//
// Requires: the runtime outlives its devices, a device its streams, buffers and executors.
// Thread safety: everything but construction and destruction. Cost: opening a device takes up to a second; polling asks
// the backend for the oldest open completion of each busy stream (0.1 us each on CUDA), between tasks, by one worker.
// Errors: gpu::error. After a device is lost every future of it holds that error, and every call throws it.
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

/// How a future learns that a stream has come to its place. poll: an event is recorded and asked for. callback: the
/// stream calls a function of the host. flag: the stream writes a word of pinned memory. docs/gpu.md compares them.
enum class completion_way : std::uint8_t { poll, callback, flag };

struct device_options {
  completion_way way = completion_way::poll;  // of stream.future()
  unsigned streams = 32;                      // how many executors spread their launches over
  bool recycle_streams = true;                // false: made anew for each gpu::stream, to measure what that costs
  bool recycle_buffers = true;                // false: given back to the device at once, which waits for their stream
  double shutdown_deadline_s = 30;            // how long the destructor waits for what is on its way
};

class device {
 public:
  /// Device `index` of the backend, for tasks of `rt`. Errors: throws gpu::error: no driver, driver too old, no such
  /// device, each with one line.
  device(runtime& rt, const backend& b, int index = 0, device_options o = {});
  /// Of the best backend there is, or of the one that PLX_GPU_BACKEND names.
  explicit device(runtime& rt, int index = 0, device_options o = {});
  /// Waits for what is on its way, until the deadline; futures that are not ready then hold an error.
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
  /// The error after which nothing runs on it any more; null while it works.
  [[nodiscard]] std::exception_ptr lost() const noexcept;

  /// Waits until all that was put in its streams so far is done. For tasks and foreign threads.
  void wait();

  /// For the library's own headers.
  [[nodiscard]] detail::device_core& core() noexcept { return *core_; }

 private:
  std::unique_ptr<detail::device_core> core_;
};

/// How many devices the backend has; 0 where it does not work.
int device_count(const backend& b) noexcept;

}  // namespace plx::gpu
