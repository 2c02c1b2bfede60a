// What a device_gas runs on: a device of plx::gpu and one stream of it. On the backend `cpu` everything works alike, in
// the memory of the host.
//
// Thread safety: one thread at a time. Errors: gpu::error, thrown; after a device is lost, by every call. Cost: that of
// gpu::stream; memory comes from the device each time.
// Example: star/device/device_gas_test.cpp
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
  /// Waits for what is in the stream.
  virtual ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  /// Of the backend: "cpu", "cuda", ...
  [[nodiscard]] std::string_view name() const noexcept { return home_.get_backend().name; }
  [[nodiscard]] gpu::device& device() noexcept { return home_; }
  [[nodiscard]] gpu::stream& stream() noexcept { return stream_; }

  /// Device memory; where there is too little, free memory of the device's pools is given back first, and it is tried
  /// once more. release() waits for what is in the stream; the first failure of that is logged, no other.
  void* allocate(std::size_t bytes) { return take(gpu::memory_kind::device, bytes); }
  void release(void* memory) noexcept;
  /// Memory of the host that copies of any device read and write at full speed. Errors: as allocate().
  void* allocate_pinned(std::size_t bytes) { return take(gpu::memory_kind::pinned, bytes); }
  void release_pinned(void* memory) noexcept;
  /// All in the order of the stream. What to_device() reads may be used again at once, what from_device() writes after
  /// synchronize().
  void to_device(void* to, const void* from, std::size_t bytes);
  void from_device(void* to, const void* from, std::size_t bytes);
  void within_device(void* to, const void* from, std::size_t bytes);
  /// As it is: what it reads and writes stays until it has run.
  void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) stream_.copy(to, from, bytes);
  }
  /// Waits for all that was put in.
  void synchronize();

  template <class Item>
  void launch(const gpu::operation<Item>& op, const Item& item) {
    stream_.launch(op, item);
  }
  /// What f() puts in becomes a graph instead. Requires: launches and copies within the device only.
  template <class F>
  [[nodiscard]] gpu::graph capture(F&& f) {
    return stream_.capture(std::forward<F>(f));
  }
  void launch(const gpu::graph& g) { stream_.launch(g); }

 private:
  void synchronize_or_log() noexcept;
  void* take(gpu::memory_kind kind, std::size_t bytes);

  static constexpr std::size_t kept_bytes = std::size_t{1} << 20;  // larger ones are waited for instead
  gpu::device& home_;
  gpu::stream stream_;
  bool logged_ = false;                             // that nothing runs there any more
  std::vector<std::unique_ptr<std::byte[]>> kept_;  // what copies to the device read, until synchronize()
};

/// A machine with a device of its own, and a runtime of one worker that looks after it: for tests and benchmarks.
/// Errors: throws gpu::error with one line where there is no device or no driver.
std::unique_ptr<machine> make_machine(const gpu::backend& b, int index = 0);
std::unique_ptr<machine> make_cpu_machine();
/// Errors: throws gpu::error also when this program was built without the backend.
std::unique_ptr<machine> make_cuda_machine();

}  // namespace plx::star::device
