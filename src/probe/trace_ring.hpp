// A ring of trace records between one worker and whoever drains it.
//
// Thread safety: one writer (push), one reader at a time (drain). Cost: a push is some stores; no lock, no heap. When
// the
//   ring is full the new record is lost and counted: older ones tell how the trouble began.
// Invariant: tail <= head <= tail + capacity; the writer owns records [head, tail + capacity), the reader [tail, head).
// Memory order: head is released by the writer after the record and acquired by the reader; tail the other way round.
// Example: probe/trace_ring_test.cpp
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "probe/worker_log.hpp"

namespace plx::probe {

class trace_ring {
 public:
  /// Holds `records`, rounded up to a power of two. The memory is touched as it is used.
  explicit trace_ring(std::size_t records)
      : mask_(std::bit_ceil(records < 2 ? 2 : records) - 1),
        records_(std::make_unique_for_overwrite<trace_record[]>(mask_ + 1)) {}

  /// By the worker; counted as lost when the ring is full.
  void push(const trace_record& r) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // own store
    if (!room_for(1, head)) return detail::add(lost_, 1);
    records_[head & mask_] = r;
    head_.store(head + 1, std::memory_order_release);  // pairs with the acquire in drain()
  }
  /// Two that belong together: both or none.
  void push(const trace_record& first, const trace_record& second) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // own store
    if (!room_for(2, head)) return detail::add(lost_, 2);
    records_[head & mask_] = first;
    records_[(head + 1) & mask_] = second;
    head_.store(head + 2, std::memory_order_release);  // pairs with the acquire in drain()
  }

  /// Calls take(record) for each record so far, oldest first, and frees their places. Returns how many.
  template <class Take>
  std::size_t drain(Take&& take) {
    const std::uint64_t head = head_.load(std::memory_order_acquire);  // pairs with the release in push()
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // own store
    for (std::uint64_t i = tail; i != head; ++i) take(records_[i & mask_]);
    tail_.store(head, std::memory_order_release);  // pairs with the acquire in push()
    return static_cast<std::size_t>(head - tail);
  }

  /// In records.
  std::size_t capacity() const noexcept { return mask_ + 1; }
  /// Records that found the ring full.
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// All records ever pushed, lost ones not counted.
  std::uint64_t pushed() const noexcept { return head_.load(std::memory_order_relaxed); }

 private:
  bool room_for(std::uint64_t n, std::uint64_t head) noexcept {
    if (head + n - seen_tail_ <= mask_ + 1) [[likely]]
      return true;
    seen_tail_ = tail_.load(std::memory_order_acquire);  // pairs with the release in drain()
    return head + n - seen_tail_ <= mask_ + 1;
  }

  const std::size_t mask_;
  std::unique_ptr<trace_record[]> records_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t seen_tail_ = 0;  // the writer's last look at tail_: spares it the reader's cache line
  detail::counter lost_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace plx::probe
