// An array in the memory of a machine, which grows and never shrinks. It allocates a quarter more than requested, if
// there is enough memory.
//
// Thread safety: none. Cost: an allocation when it grows. Example: star/device/device_gas.cpp
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "gpu/error.hpp"
#include "star/device/data/machine.hpp"

namespace plx::star::device {

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
    if (kept > 0) on.within_device(larger.data_, data_, kept * sizeof(T));
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

}  // namespace plx::star::device
