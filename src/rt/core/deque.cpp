#include "rt/core/deque.hpp"

#include <memory>
#include <utility>

#include "base/assert.hpp"

namespace plx::detail {

struct work_deque::buffer {
  explicit buffer(std::int64_t n, buffer* before)
      : capacity(n), entries(new std::atomic<task*>[static_cast<std::size_t>(n)]), older(before) {}
  std::int64_t capacity;
  std::unique_ptr<std::atomic<task*>[]> entries;
  buffer* older;
};

work_deque::work_deque(std::int64_t capacity) {
  PLX_ASSERT(capacity > 0 && (capacity & (capacity - 1)) == 0, capacity);
  adopt(new buffer(capacity, nullptr));
}

work_deque::~work_deque() {
  for (buffer* b = owned_; b != nullptr;) delete std::exchange(b, b->older);
}

void work_deque::adopt(buffer* b) noexcept {
  owned_ = b;
  capacity_ = b->capacity;
  entries_ = b->entries.get();
  shared_.store(b, std::memory_order_release);  // pairs with the acquire in steal(): the copied entries come first
}

void work_deque::make_room(std::int64_t bottom) {
  top_seen_ = top_.load(std::memory_order_acquire);
  if (bottom - top_seen_ < capacity_) return;
  auto* bigger = new buffer(capacity_ * 2, owned_);
  for (std::int64_t i = top_seen_; i < bottom; ++i)
    bigger->entries[static_cast<std::size_t>(i & (bigger->capacity - 1))].store(
        entries_[i & (capacity_ - 1)].load(std::memory_order_relaxed), std::memory_order_relaxed);
  adopt(bigger);
}

task* work_deque::steal() noexcept {
#if defined(PLX_TSAN)
  std::int64_t t = top_.load(std::memory_order_seq_cst);
  const std::int64_t b = bottom_.load(std::memory_order_seq_cst);
#else
  std::int64_t t = top_.load(std::memory_order_acquire);
  full_fence();                                                    // pairs with the fence in pop()
  const std::int64_t b = bottom_.load(std::memory_order_acquire);  // pairs with the release in push()
#endif
  if (t >= b) return nullptr;
  const buffer* buf = shared_.load(std::memory_order_acquire);
  task* x = buf->entries[static_cast<std::size_t>(t & (buf->capacity - 1))].load(std::memory_order_relaxed);
  if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) return nullptr;
  return x;
}

}  // namespace plx::detail
