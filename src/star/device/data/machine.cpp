#include "star/device/data/machine.hpp"

#include <cstring>
#include <exception>

#include "base/log.hpp"
#include "gpu/buffer.hpp"
#include "rt/runtime.hpp"

namespace plx::star::device {

namespace {

gpu::error failed(const gpu::device& d, const gpu::outcome& o, std::size_t bytes) {
  return gpu::make_error(d.get_backend(), o, "", d.label(), std::to_string(bytes) + " bytes for blocks");
}

}  // namespace

machine::machine(gpu::device& d) : home_(d), stream_(d) {}

machine::~machine() { synchronize_or_log(); }

// Logs once per machine: an owner of many arrays on a lost device would report it for each.
void machine::synchronize_or_log() noexcept {
  try {
    synchronize();
  } catch (const std::exception& e) {
    if (!std::exchange(logged_, true)) log_warning("star: {}", e.what());
  }
}

void* machine::take(gpu::memory_kind kind, std::size_t bytes) {
  void* memory = nullptr;
  const std::size_t least = bytes > 0 ? bytes : 1;
  const gpu::backend& b = home_.get_backend();
  gpu::outcome o = b.allocate(home_.native(), kind, least, memory);
  if (!o && b.kind_of(o.code) == gpu::failure::out_of_memory) {
    gpu::trim(home_);
    o = b.allocate(home_.native(), kind, least, memory);
  }
  if (!o) throw failed(home_, o, least);
  return memory;
}

void machine::release(void* memory) noexcept {
  synchronize_or_log();
  home_.get_backend().release(home_.native(), gpu::memory_kind::device, memory);
}

void machine::release_pinned(void* memory) noexcept {
  synchronize_or_log();
  home_.get_backend().release(home_.native(), gpu::memory_kind::pinned, memory);
}

void machine::to_device(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes > kept_bytes) {
    stream_.copy(to, from, bytes);
    synchronize();
    return;
  }
  kept_.push_back(std::make_unique<std::byte[]>(bytes));
  std::memcpy(kept_.back().get(), from, bytes);
  stream_.copy(to, kept_.back().get(), bytes);
}

void machine::from_device(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) stream_.copy(to, from, bytes);
}

void machine::within_device(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) stream_.copy(to, from, bytes);
}

void machine::synchronize() {
  stream_.wait();
  kept_.clear();
}

namespace {

// Members in order of construction.
struct own_device {
  own_device(const gpu::backend& b, int index) : rt({.workers = 1, .bind = false}), device(rt, b, index) {}
  plx::runtime rt;
  gpu::device device;
};
struct own_machine final : private own_device, public machine {
  own_machine(const gpu::backend& b, int index) : own_device(b, index), machine(own_device::device) {}
};

}  // namespace

std::unique_ptr<machine> make_machine(const gpu::backend& b, int index) {
  return std::make_unique<own_machine>(b, index);
}

}  // namespace plx::star::device
