// A device of plx::gpu with one stream, on which a device_gas runs, and arrays in its memory. On the backend `cpu`
// everything works in the same way, in host memory.
//
// Thread safety: one thread at a time. Errors: gpu::error, thrown; after a device is lost, by every call. Cost: that of
// gpu::stream; each allocation is made by the device.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/error.hpp"
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

/// An array in the memory of a machine, which grows and never shrinks. It allocates a quarter more than requested, if
/// there is enough memory. Thread safety: none. Cost: an allocation when it grows.
template <class T>
class device_memory {
 public:
  device_memory() = default;
  ~device_memory() { free(); }
  device_memory(device_memory&& o) noexcept
      : on_(o.on_), data_(std::exchange(o.data_, nullptr)), room_(std::exchange(o.room_, 0)) {}
  device_memory& operator=(device_memory&& o) noexcept {
    std::swap(on_, o.on_), std::swap(data_, o.data_), std::swap(room_, o.room_);
    return *this;
  }

  /// Ensures room for `count` values; the content is lost if the memory grows. Errors: gpu::error; the array is then
  /// empty.
  void reserve(machine& on, std::size_t count) {
    if (on_ != nullptr && count <= room_) return;
    free();
    on_ = &on;
    const std::size_t more = count + count / 4;
    try {
      take(on, more);
    } catch (const gpu::error& e) {
      if (e.kind() != gpu::failure::out_of_memory || more == count) throw;
      take(on, count);
    }
  }
  /// The same, but keeps the first `kept` values. In the order of the stream; waits if the memory grows.
  void grow(machine& on, std::size_t count, std::size_t kept) {
    if (on_ != nullptr && count <= room_) return;
    device_memory larger;
    larger.reserve(on, count);
    if (kept > 0) on.within_device(larger.data(), data_, kept * sizeof(T));
    on.synchronize();
    *this = std::move(larger);
  }
  /// Copies these values to the device, in the order of the stream; `from` may be reused at once.
  void set(machine& on, std::span<const T> from) {
    reserve(on, from.size());
    if (!from.empty()) on.to_device(data_, from.data(), from.size_bytes());
  }
  /// Returns the first `count` values; waits.
  std::vector<T> get(std::size_t count) const {
    std::vector<T> values(count);
    if (count == 0) return values;
    on_->from_device(values.data(), data_, count * sizeof(T));
    on_->synchronize();
    return values;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t room() const { return room_; }

 private:
  void take(machine& on, std::size_t count) {
    data_ = static_cast<T*>(on.allocate(count * sizeof(T)));
    room_ = count;
  }
  void free() noexcept {
    if (data_ != nullptr) on_->release(data_);
    data_ = nullptr;
    room_ = 0;
  }

  machine* on_ = nullptr;
  T* data_ = nullptr;
  std::size_t room_ = 0;
};

/// An array in pinned host memory, for machine::copy(); it grows and never shrinks. Thread safety: none. Cost: an
/// allocation when it grows.
template <class T>
class pinned_memory {
 public:
  pinned_memory() = default;
  ~pinned_memory() { free(); }
  pinned_memory(const pinned_memory&) = delete;
  pinned_memory& operator=(const pinned_memory&) = delete;

  /// Ensures room for `count` values; the content is lost if the memory grows. Errors: gpu::error; the array is then
  /// empty.
  void reserve(machine& on, std::size_t count) {
    if (count <= room_) return;
    free();
    on_ = &on;
    data_ = static_cast<T*>(on.allocate_pinned(count * sizeof(T)));
    room_ = count;
  }
  T* data() { return data_; }
  const T* data() const { return data_; }

 private:
  void free() noexcept {
    if (data_ != nullptr) on_->release_pinned(data_);
    data_ = nullptr;
    room_ = 0;
  }

  machine* on_ = nullptr;
  T* data_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace plx::star::device

namespace plx::star {

/// The device of a locality, with its stream. Members in order of construction. Errors: gpu::error, thrown.
struct run_device {
  run_device(runtime& rt, const gpu::backend& b, int index) : device(rt, b, index), machine(device) {}

  gpu::device device;
  device::machine machine;
};

}  // namespace plx::star
