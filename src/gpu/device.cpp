#include "gpu/device.hpp"

#include <cstdlib>

#include "gpu/detail/device_core.hpp"

namespace plx::gpu {
namespace {

const backend& wanted_backend() {
  const char* name = std::getenv("PLX_GPU_BACKEND");
  return name == nullptr || *name == '\0' ? best_backend() : find_backend(name);
}

}  // namespace

device::device(runtime& rt, const backend& b, int index, device_options o)
    : core_(std::make_unique<detail::device_core>(rt, b, index, o)) {}
device::device(runtime& rt, int index, device_options o) : device(rt, wanted_backend(), index, o) {}
device::~device() = default;

const backend& device::get_backend() const noexcept { return core_->table; }
runtime& device::get_runtime() const noexcept { return core_->rt; }
int device::index() const noexcept { return core_->index; }
const device_info& device::info() const noexcept { return core_->info; }
std::string_view device::label() const noexcept { return core_->label; }
native_device device::native() const noexcept { return core_->native; }
std::exception_ptr device::lost() const noexcept { return core_->lost(); }
void device::wait() { core_->wait_for_all(); }

int device_count(const backend& b) noexcept {
  int n = 0;
  return b.count(b, n) ? n : 0;
}

}  // namespace plx::gpu
