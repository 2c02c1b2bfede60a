// A ring of trace records between one worker and whoever drains it.
//
// The records lie in blocks. A block that was drained is used again before one that never was: so a ring that is
// emptied in time stays in the caches, however large it may become, and touches no fresh memory.
// Thread safety: one writer (push), one reader at a time (drain). Cost: a push is some stores; no lock, no heap. When
// the
//   ring is full the new record is lost and counted: older ones tell how the trouble began.
// Invariant: tail <= head <= tail + capacity; the writer owns records [head, tail + capacity), the reader [tail, head).
//   These lie in at most n + 1 blocks, n being what the capacity fills, and there are as many: one is always free for
//   the writer. The block number v of all that ever were lies at place v % (n + 1).
// Memory order: head is released by the writer after the record and the place of its block, and acquired by the reader;
//   tail the other way round: blocks before it are the writer's again.
// Example: probe/trace_ring_test.cpp
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "probe/worker_log.hpp"

namespace plx::probe {

class trace_ring {
 public:
  static constexpr std::size_t most_block_records = std::size_t{1} << 12;  // 128 KiB

  /// Holds `records`, rounded up to a power of two. The memory is touched as it is used.
  explicit trace_ring(std::size_t records)
      : capacity_(std::bit_ceil(records < 2 ? 2 : records)),
        block_records_(std::min(capacity_, most_block_records)),
        n_places_(capacity_ / block_records_ + 1),
        records_(std::make_unique_for_overwrite<trace_record[]>(n_places_ * block_records_)),
        places_(std::make_unique<trace_record*[]>(n_places_)) {}

  /// By the worker. False, and counted as lost, when the ring is full.
  bool push(const trace_record& r) noexcept {
    trace_record* at = place_at_once();
    if (at == nullptr) [[unlikely]]
      return push_elsewhere(r);
    *at = r;
    written_at(at);
    return true;
  }
  /// By the worker: where the next record goes, if that takes a store and nothing else, and written_at() after it; else
  /// null.
  trace_record* place_at_once() const noexcept { return next_ != end_ ? next_ : nullptr; }
  /// See place_at_once().
  void written_at(trace_record* at) noexcept {
    next_ = at + 1;
    head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // pairs with drain_spans()
  }
  /// By the worker: place_at_once() gives null until the next push().
  void look_anew() noexcept { end_ = next_; }
  /// Two that belong together: both or none.
  void push(const trace_record& first, const trace_record& second) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // own store
    if (!room_for(2, head)) return detail::add(lost_, 2);
    write(head, first);
    write(head + 1, second);
    look_anew();
    head_.store(head + 2, std::memory_order_release);  // pairs with the acquire in drain_spans()
  }

  /// Calls take(records) with spans of all records so far, oldest first, and frees their places. Returns how many.
  template <class Take>
  std::size_t drain_spans(Take&& take) {
    const std::uint64_t head = head_.load(std::memory_order_acquire);  // pairs with the release in push()
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // own store
    for (std::uint64_t i = tail; i != head;) {
      const std::uint64_t within = i % block_records_;
      const std::uint64_t n = std::min(head - i, block_records_ - within);
      take(std::span<const trace_record>(places_[i / block_records_ % n_places_] + within, n));
      i += n;
    }
    tail_.store(head, std::memory_order_release);  // pairs with the acquire in see_tail()
    return static_cast<std::size_t>(head - tail);
  }
  /// The same, one by one.
  template <class Take>
  std::size_t drain(Take&& take) {
    return drain_spans([&](std::span<const trace_record> some) {
      for (const trace_record& r : some) take(r);
    });
  }

  /// In records.
  std::size_t capacity() const noexcept { return capacity_; }
  /// Records that found the ring full.
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// All records ever pushed, lost ones not counted.
  std::uint64_t pushed() const noexcept { return head_.load(std::memory_order_relaxed); }
  /// Records for which memory was ever touched: blocks of the writer's.
  std::size_t touched() const noexcept { return fresh_.load(std::memory_order_relaxed) * block_records_; }

 private:
  bool room_for(std::uint64_t n, std::uint64_t head) noexcept {
    if (head + n - seen_tail_ <= capacity_) [[likely]]
      return true;
    see_tail();
    return head + n - seen_tail_ <= capacity_;
  }
  void see_tail() noexcept { seen_tail_ = tail_.load(std::memory_order_acquire); }  // pairs with drain_spans()

  /// Behind the end of a block, or of what the reader had freed at the last look.
  [[gnu::noinline]] bool push_elsewhere(trace_record r) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // own store
    if (!room_for(1, head)) {
      detail::add(lost_, 1);
      return false;
    }
    next_ = place_of(head);
    end_ = next_ + std::min(block_records_ - (head & (block_records_ - 1)), capacity_ - (head - seen_tail_));
    *next_ = r;
    written_at(next_);
    return true;
  }
  trace_record* place_of(std::uint64_t at) noexcept {
    const std::uint64_t within = at & (block_records_ - 1);
    if (within == 0) begin_block(at / block_records_);
    return block_ + within;
  }
  void write(std::uint64_t at, const trace_record& r) noexcept { *place_of(at) = r; }
  // Requires: room for its first record. If no drained block is left, there is one that was never used: see above.
  void begin_block(std::uint64_t number) noexcept {
    see_tail();
    if (reused_ < seen_tail_ / block_records_)
      block_ = places_[reused_++ % n_places_];
    else
      block_ = &records_[block_records_ * fresh_.fetch_add(1, std::memory_order_relaxed)];
    places_[number % n_places_] = block_;
  }

  const std::size_t capacity_, block_records_, n_places_;
  const std::unique_ptr<trace_record[]> records_;
  const std::unique_ptr<trace_record*[]> places_;  // of blocks, by number
  alignas(64) std::atomic<std::uint64_t> head_{0};
  // Where the next record goes, and where the block ends or the ring may be full.
  trace_record* next_ = nullptr;
  trace_record* end_ = nullptr;
  std::uint64_t seen_tail_ = 0;  // the writer's last look at tail_: spares it the reader's cache line
  trace_record* block_ = nullptr;
  std::uint64_t reused_ = 0;  // the number of the oldest block whose memory was not used again
  std::atomic<std::size_t> fresh_{0};
  detail::counter lost_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace plx::probe
