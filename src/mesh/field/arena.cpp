#include "mesh/field/arena.hpp"

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

// Large arenas start on a huge page and request more of them: otherwise a gather touches some hundred pages of 4 KiB.
double* allocate(std::size_t bytes) {
  const std::size_t alignment = bytes >= huge_page_bytes ? huge_page_bytes : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == huge_page_bytes) madvise(memory, rounded, MADV_HUGEPAGE);  // a hint; refusal only costs speed
#endif
  return static_cast<double*>(memory);
}

}  // namespace

arena::arena(std::vector<field_info> fields, int block_size)
    : fields_(std::move(fields)),
      table_(table_of(fields_)),
      block_size_(block_size),
      stride_((fields_.size() * static_cast<std::size_t>(cells()) + 7) / 8 * 8) {
  PLX_ASSERT(!fields_.empty());
}

arena::~arena() { std::free(base_); }

arena::arena(arena&& other) noexcept
    : fields_(std::move(other.fields_)),
      table_(other.table_),
      block_size_(other.block_size_),
      stride_(other.stride_),
      row_of_(std::exchange(other.row_of_, {})),
      free_(std::exchange(other.free_, {})),
      rows_(std::exchange(other.rows_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      base_(std::exchange(other.base_, nullptr)) {}

arena& arena::operator=(arena&& other) noexcept {
  std::swap(fields_, other.fields_);
  std::swap(table_, other.table_);
  std::swap(block_size_, other.block_size_);
  std::swap(stride_, other.stride_);
  std::swap(row_of_, other.row_of_);
  std::swap(free_, other.free_);
  std::swap(rows_, other.rows_);
  std::swap(capacity_, other.capacity_);
  std::swap(base_, other.base_);
  return *this;
}

void arena::reserve(std::size_t rows) {
  if (rows <= capacity_) return;
  const std::size_t capacity = std::max(rows, capacity_ + capacity_ / 4);
  double* bigger = allocate(capacity * stride_ * sizeof(double));
  if (rows_ > 0) std::memcpy(bigger, base_, rows_ * stride_ * sizeof(double));
  std::free(base_);
  base_ = bigger;
  capacity_ = capacity;
}

void arena::take_row(slot_id slot) {
  if (free_.empty()) {
    row_of_[slot] = static_cast<std::int32_t>(rows_++);
  } else {
    row_of_[slot] = free_.back();
    free_.pop_back();
  }
}

void arena::resize(std::size_t slots) {
  PLX_ASSERT(free_.empty() && rows_ == row_of_.size(), rows_, row_of_.size());
  if (slots <= rows_) return;
  reserve(slots);
  row_of_.resize(slots, -1);
  while (rows_ < slots) take_row(static_cast<slot_id>(rows_));
}

void arena::hold(std::size_t slots, std::span<const slot_id> wanted) {
  row_of_.resize(std::max(slots, row_of_.size()), -1);
  const auto missing = std::count_if(wanted.begin(), wanted.end(), [&](slot_id s) { return !holds(s); });
  reserve(rows_ + static_cast<std::size_t>(missing) - std::min<std::size_t>(missing, free_.size()));
  for (const slot_id slot : wanted)
    if (!holds(slot)) take_row(slot);
}

void arena::hold_only(std::size_t slots, std::span<const slot_id> wanted) {
  std::vector<bool> kept(std::max(slots, row_of_.size()), false);
  for (const slot_id slot : wanted) kept[slot] = true;
  for (std::size_t slot = row_of_.size(); slot-- > 0;)
    if (row_of_[slot] >= 0 && !kept[slot]) free_.push_back(std::exchange(row_of_[slot], -1));
  hold(slots, wanted);
}

}  // namespace plx::mesh
