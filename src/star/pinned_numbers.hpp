// Numbers in pinned memory of the host, which devices read and write at full speed.
//
// Thread safety: none. Cost: of allocating when it grows. Errors: gpu::error, thrown. Example: star/shared_course.cpp
#pragma once

#include <cstddef>

namespace plx::star {

namespace device {
class machine;
}

class pinned_numbers {
 public:
  pinned_numbers() = default;
  ~pinned_numbers() { free(); }
  pinned_numbers(const pinned_numbers&) = delete;
  pinned_numbers& operator=(const pinned_numbers&) = delete;

  /// What it held is lost where it grows. Requires: `on` outlives it.
  void reserve(device::machine& on, std::size_t count);
  double* data() { return data_; }
  const double* data() const { return data_; }

 private:
  void free() noexcept;

  device::machine* on_ = nullptr;
  double* data_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace plx::star
