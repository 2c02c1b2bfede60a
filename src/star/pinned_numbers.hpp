// Numbers in pinned memory of the host, which devices read and write at full speed.
//
// Thread safety: none. Cost: of allocating when it grows. Errors: gpu::error, thrown. Example: star/shared_course.cpp
#pragma once

#include <cstddef>

#include "star/device/machine.hpp"

namespace plx::star {

class pinned_numbers {
 public:
  pinned_numbers() = default;
  ~pinned_numbers() { free(); }
  pinned_numbers(const pinned_numbers&) = delete;
  pinned_numbers& operator=(const pinned_numbers&) = delete;

  /// What it held is lost where it grows. Requires: `on` outlives it.
  void reserve(device::machine& on, std::size_t count) {
    if (count <= room_) return;
    free();
    on_ = &on;
    data_ = static_cast<double*>(on.allocate_pinned(count * sizeof(double)));
    room_ = count;
  }
  double* data() { return data_; }
  const double* data() const { return data_; }

 private:
  void free() noexcept {
    if (data_ != nullptr) on_->release_pinned(data_);
    data_ = nullptr, room_ = 0;
  }
  device::machine* on_ = nullptr;
  double* data_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace plx::star
