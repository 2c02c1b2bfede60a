#include "mesh/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"

namespace plx::mesh {

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

// Large arenas start on a huge page and ask for more of them: a gather touches some hundred 4 KiB pages otherwise.
double* allocate(std::size_t bytes) {
  const std::size_t alignment = bytes >= huge_page_bytes ? huge_page_bytes : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == huge_page_bytes) madvise(memory, rounded, MADV_HUGEPAGE);  // a wish; refusal costs speed only
#endif
  return static_cast<double*>(memory);
}

}  // namespace

arena::arena(std::vector<variable> variables, int block_size)
    : variables_(std::move(variables)),
      block_size_(block_size),
      stride_((variables_.size() * static_cast<std::size_t>(cells()) + 7) / 8 * 8) {
  PLX_ASSERT(!variables_.empty());
}

arena::~arena() { std::free(base_); }

arena::arena(arena&& other) noexcept
    : variables_(std::move(other.variables_)),
      block_size_(other.block_size_),
      stride_(other.stride_),
      slots_(std::exchange(other.slots_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      base_(std::exchange(other.base_, nullptr)) {}

arena& arena::operator=(arena&& other) noexcept {
  std::swap(variables_, other.variables_);
  std::swap(block_size_, other.block_size_);
  std::swap(stride_, other.stride_);
  std::swap(slots_, other.slots_);
  std::swap(capacity_, other.capacity_);
  std::swap(base_, other.base_);
  return *this;
}

void arena::resize(std::size_t slots) {
  if (slots <= slots_) return;
  if (slots > capacity_) {
    const std::size_t capacity = std::max(slots, capacity_ + capacity_ / 4);
    double* bigger = allocate(capacity * stride_ * sizeof(double));
    if (slots_ > 0) std::memcpy(bigger, base_, slots_ * stride_ * sizeof(double));
    std::free(base_);
    base_ = bigger;
    capacity_ = capacity;
  }
  std::memset(base_ + slots_ * stride_, 0, (slots - slots_) * stride_ * sizeof(double));
  slots_ = slots;
}

}  // namespace plx::mesh
