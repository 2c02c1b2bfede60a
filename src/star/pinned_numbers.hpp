// An array of numbers in pinned host memory, which devices read and write at full speed.
//
// Thread safety: none. Cost: an allocation when it grows. Errors: gpu::error, thrown. Example: star/shared_course.cpp
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

  /// Ensures room for `count` numbers; the content is lost if the memory grows. Requires: `on` outlives it.
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
