#include "star/pinned_numbers.hpp"

#include "star/device/machine.hpp"

namespace plx::star {

void pinned_numbers::reserve(device::machine& on, std::size_t count) {
  if (count <= room_) return;
  free();
  on_ = &on;
  data_ = static_cast<double*>(on.allocate_pinned(count * sizeof(double)));
  room_ = count;
}

void pinned_numbers::free() noexcept {
  if (data_ != nullptr) on_->release_pinned(data_);
  data_ = nullptr, room_ = 0;
}

}  // namespace plx::star
