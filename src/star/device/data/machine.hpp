// A device of plx::gpu with one stream, on which a device_gas runs. On the backend `cpu` everything works in the same
// way, in host memory.
//
// Thread safety: one thread at a time. Errors: gpu::error, thrown; after a device is lost, by every call. Cost: that of
// gpu::stream; each allocation is made by the device.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/stream.hpp"

namespace plx::star::device {

class machine {
 public:
  /// Requires: `d` outlives it.
  explicit machine(gpu::device& d);
  /// Waits for the work in the stream.
  virtual ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  /// The name of the backend: "cpu", "cuda", ...
  [[nodiscard]] std::string_view name() const noexcept { return home_.get_backend().name; }
  [[nodiscard]] gpu::device& device() noexcept { return home_; }
  [[nodiscard]] gpu::stream& stream() noexcept { return stream_; }

  /// Device memory; if there is too little, unused memory of the device's pools is released and the allocation is
  /// retried once. release() waits for the work in the stream; it logs the first failure and ignores later ones.
  void* allocate(std::size_t bytes) { return take(gpu::memory_kind::device, bytes); }
  void release(void* memory) noexcept;
  /// Host memory that copies from and to any device read and write at full speed. Errors: as allocate().
  void* allocate_pinned(std::size_t bytes) { return take(gpu::memory_kind::pinned, bytes); }
  void release_pinned(void* memory) noexcept;
  /// Copies, in the order of the stream. The source of to_device() may be reused at once; the result of from_device()
  /// is valid after synchronize().
  void to_device(void* to, const void* from, std::size_t bytes);
  void from_device(void* to, const void* from, std::size_t bytes);
  void within_device(void* to, const void* from, std::size_t bytes);
  /// A direct copy: source and destination stay in use until it has run.
  void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) stream_.copy(to, from, bytes);
  }
  /// Waits for all work in the stream.
  void synchronize();

  template <class Item>
  void launch(const gpu::operation<Item>& op, const Item& item) {
    stream_.launch(op, item);
  }
  /// Records the work that f() submits as a graph. Requires: launches and copies within the device only.
  template <class F>
  [[nodiscard]] gpu::graph capture(F&& f) {
    return stream_.capture(std::forward<F>(f));
  }
  void launch(const gpu::graph& g) { stream_.launch(g); }

 private:
  void synchronize_or_log() noexcept;
  void* take(gpu::memory_kind kind, std::size_t bytes);

  static constexpr std::size_t kept_bytes = std::size_t{1} << 20;  // larger copies are waited for instead
  gpu::device& home_;
  gpu::stream stream_;
  bool logged_ = false;                             // has logged that the device is lost
  std::vector<std::unique_ptr<std::byte[]>> kept_;  // sources of copies to the device, until synchronize()
};

/// A machine with its own device and a runtime of one worker that polls it: for tests and benchmarks. Errors: throws
/// gpu::error with one line if there is no device or no driver.
std::unique_ptr<machine> make_machine(const gpu::backend& b, int index = 0);
std::unique_ptr<machine> make_cpu_machine();
/// Errors: also throws gpu::error if this program was built without the backend.
std::unique_ptr<machine> make_cuda_machine();

}  // namespace plx::star::device
