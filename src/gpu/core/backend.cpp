#include <fmt/format.h>

#include <cstdlib>

#include "gpu/backend.hpp"
#include "gpu/core/backends.hpp"
#include "gpu/core/device_core.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/device.hpp"

namespace plx::gpu {

std::string_view name_of(failure kind) noexcept {
  switch (kind) {
    case failure::none:
      return "no failure";
    case failure::out_of_memory:
      return "out of memory";
    case failure::no_driver:
      return "no driver";
    case failure::driver_too_old:
      return "driver too old";
    case failure::no_device:
      return "no device";
    case failure::device_lost:
      return "device lost";
    case failure::unsupported:
      return "not supported";
    case failure::wrong_use:
      return "wrong use";
    case failure::other:
      break;
  }
  return "failed";
}

namespace {

// The remedy, where one is known.
std::string_view advice_for(failure kind) {
  switch (kind) {
    case failure::no_driver:
      return "; install the device driver, or use the cpu backend";
    case failure::driver_too_old:
      return "; this program needs a newer driver, or a build with an older toolkit";
    case failure::no_device:
      return "; the driver finds no device (check that it is visible to this process)";
    case failure::device_lost:
      return "; the device is unusable for the rest of this process";
    default:
      return "";
  }
}

}  // namespace

error make_error(const backend& b, const outcome& o, std::string_view kernel, std::string_view device,
                 std::string_view about) {
  const failure kind = b.kind_of(o.code);
  std::string text =
      fmt::format("{}: {}: {} ({}, {})", b.name, o.call, b.code_text(o.code), b.code_name(o.code), o.code);
  if (kind != failure::other && kind != failure::none) text = fmt::format("{} [{}]", text, name_of(kind));
  if (!kernel.empty()) text += fmt::format(", kernel '{}'", kernel);
  if (!device.empty()) text += fmt::format(", device {}", device);
  if (!about.empty()) text += fmt::format(", {}", about);
  text += advice_for(kind);
  return error({kind, o.code, o.call, std::string(kernel), std::move(text)});
}

std::vector<const backend*> backends() {
  std::vector<const backend*> all;
#if defined(PLX_GPU_CUDA)
  all.push_back(&cuda::table());
#endif
#if defined(PLX_GPU_HIP)
  all.push_back(&hip::table());
#endif
#if defined(PLX_GPU_SYCL)
  all.push_back(&sycl::table());
#endif
  all.push_back(&cpu::table());
  return all;
}

const backend& find_backend(std::string_view name) {
  std::string known;
  for (const backend* b : backends()) {
    if (b->name == name) return *b;
    known += (known.empty() ? "" : ", ") + std::string(b->name);
  }
  throw error({failure::unsupported, 0, "find_backend", "",
               fmt::format("no backend '{}' in this program: expected one of {}", name, known)});
}

const backend& best_backend(std::vector<std::string>* why_not) {
  const auto all = backends();
  for (const backend* b : all) {
    int n = 0;
    const outcome o = b->count(*b, n);
    if (o && n > 0) return *b;
    if (why_not != nullptr) why_not->emplace_back(make_error(*b, o, "", "").what());
  }
  return *all.back();
}

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
