// Internal: packs the data of a slice into fewer trace_records. For worker_log.cpp, which writes them, and
// trace_data.cpp, which reads them.
//
// A slice has 56 bytes of data: begin, end, when it became ready, its task, the cause, the key, the name. Ids of one
// recorder differ in the worker and in an increasing number, times differ by durations. If each of these fits into 32
// bits, and the worker is one of the 15 before or the 16 after the recording worker, a slice takes one record;
// otherwise two, a link and a slice. Nothing is rounded. In the same way, five targets of edges of one moment fit into
// a record.
//
// Thread safety: none, plain functions. Cost: pack_slice() about 15 instructions, with a branch only at the end.
// Example: probe/record/test/trace_packing_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "probe/record/trace_data.hpp"
#include "probe/record/worker_log.hpp"

namespace plx::probe::detail {

/// Bits of trace_record::flags in addition to those defined there. In a packed slice, 5 bits each hold the workers of
/// the task and of the cause, followed by the name; the bits of is_link and is_edge have the meaning of the two
/// constants below.
inline constexpr std::uint32_t is_packed = 32, has_ready = 4, caused_by_join = 8;
inline constexpr unsigned own_worker_shift = 6, cause_worker_shift = 11, name_shift = 16;

inline constexpr std::uint64_t low_word = 0xffffffff;
inline constexpr unsigned id_worker_shift = 40;
/// An id as a distance from the first id of the recording worker: bits 40 to 44 are the worker, 15 is the worker
/// itself.
inline constexpr std::uint64_t same_worker = std::uint64_t{15} << id_worker_shift;
inline constexpr std::uint64_t id_bits = std::uint64_t{31} << id_worker_shift | low_word;

/// The base of the ids of a worker's tasks; the first id is this + 1.
constexpr task_id first_id_of(unsigned worker, unsigned space) noexcept {
  return task_id{space & 0x3f} << 56 | (task_id{worker} + 1) << id_worker_shift;
}

constexpr std::uint64_t distance_of(task_id id, task_id first) noexcept {
  return (id & ~join_bit) - first + same_worker;
}
constexpr bool is_near(std::uint64_t distance) noexcept { return (distance & ~id_bits) == 0; }
/// The id from the two parts of a distance. Number 0 means no id.
constexpr task_id id_at(std::uint64_t worker, std::uint64_t number, bool join, task_id first) noexcept {
  if (number == 0) return 0;
  return ((worker << id_worker_shift) + number + first - same_worker) | (join ? join_bit : 0);
}

/// Returns false if the data does not fit. `name_and_flags`: the flags of a trace_record in the upper half. Requires:
/// id != 0.
inline bool pack_slice(trace_record& to, task_id first, ticks begin, ticks end, std::uint64_t key,
                       std::uint64_t name_and_flags, task_id id, task_id cause, ticks ready) noexcept {
  const std::uint64_t own = distance_of(id, first);
  const std::uint64_t other = cause == 0 ? 0 : distance_of(cause, first);
  const std::uint64_t length = end - begin;
  const std::uint64_t waited = ready != 0 && ready < begin ? begin - ready : 0;
  const std::uint64_t name = name_and_flags & low_word;
  const std::uint64_t too_large = (length | waited | (key + 1)) >> 32 | name >> 16;  // no_key + 1 is 0
  if ((too_large | ((own | other) & ~id_bits)) != 0) return false;
  to.begin = end;
  to.end = length | waited << 32;
  to.key = (own & low_word) | other << 32;
  to.name = static_cast<std::uint32_t>(key + 1);
  to.flags = static_cast<std::uint32_t>(
      is_packed | name_and_flags >> 32 | (ready != 0 ? has_ready : 0) | (is_join(cause) ? caused_by_join : 0) |
      own >> id_worker_shift << own_worker_shift | other >> id_worker_shift << cause_worker_shift | name << name_shift);
  return true;
}

/// The same, if the task and the cause, if any, are tasks of the recording worker: the most frequent case, in half the
/// instructions. If it returns false, `to` is unspecified.
inline bool pack_own_slice(trace_record& to, task_id first, ticks begin, ticks end, std::uint64_t key,
                           std::uint64_t name_and_flags, task_id id, task_id cause, ticks ready) noexcept {
  const std::uint64_t length = end - begin;
  const std::uint64_t waited = ready == 0 ? 0 : begin - ready;
  to.begin = end;
  to.end = length | waited << 32;
  std::uint64_t large = length | waited | (key + 1);
  to.name = static_cast<std::uint32_t>(key + 1);
  const std::uint64_t own = id ^ first;  // below 2^32: its number
  const std::uint64_t other = cause == 0 ? 0 : cause ^ first;
  to.key = own | other << 32;
  large |= own | other;
  to.flags =
      static_cast<std::uint32_t>(is_packed | 15u << own_worker_shift | 15u << cause_worker_shift |
                                 name_and_flags >> 32 | (ready != 0 ? has_ready : 0) | name_and_flags << name_shift);
  return (large >> 32 | (name_and_flags & low_word) >> 16) == 0;
}

struct unpacked_slice {
  trace_slice slice;
  task_id cause = 0;
};

inline unpacked_slice unpack_slice(const trace_record& r, task_id first) noexcept {
  const ticks begin = r.begin - (r.end & low_word);
  return {.slice = {.begin = begin,
                    .end = r.begin,
                    .key = std::uint64_t{r.name} - 1,
                    .id = id_at(r.flags >> own_worker_shift & 31, r.key & low_word, false, first),
                    .ready = (r.flags & has_ready) != 0 ? begin - (r.end >> 32) : 0,
                    .name = r.flags >> name_shift,
                    .finished = (r.flags & trace_record::finished) != 0,
                    .resumed = (r.flags & trace_record::resumed) != 0},
          .cause = id_at(r.flags >> cause_worker_shift & 31, r.key >> 32, (r.flags & caused_by_join) != 0, first)};
}

/// Targets of edges in three words, the last one in the lowest bits: its number, worker, and whether it is a join.
using packed_targets = std::array<std::uint64_t, 3>;
inline constexpr unsigned target_bits = 38, most_targets = 5;

/// Appends a target. Requires: is_near(distance), and fewer than most_targets so far.
inline void add_target(packed_targets& all, std::uint64_t distance, bool join) noexcept {
  const std::uint64_t one = (distance & low_word) | distance >> id_worker_shift << 32 | std::uint64_t{join} << 37;
  all[2] = all[2] << target_bits | all[1] >> (64 - target_bits);
  all[1] = all[1] << target_bits | all[0] >> (64 - target_bits);
  all[0] = all[0] << target_bits | one;
}

/// Removes and returns the last target; 0 if there is none.
inline task_id take_target(packed_targets& all, task_id first) noexcept {
  const std::uint64_t one = all[0] & ((std::uint64_t{1} << target_bits) - 1);
  all[0] = all[0] >> target_bits | all[1] << (64 - target_bits);
  all[1] = all[1] >> target_bits | all[2] << (64 - target_bits);
  all[2] >>= target_bits;
  return id_at(one >> 32 & 31, one & low_word, (one >> 37 & 1) != 0, first);
}

}  // namespace plx::probe::detail

namespace plx::probe {

// A ring of trace records between one worker and the thread that drains it.
//
// The records are stored in blocks. Drained blocks are reused before new ones, so that a ring that is drained in time
// stays in the caches whatever its capacity, and touches no new memory.
// Thread safety: one writer (push), one reader at a time (drain). Cost: a push takes a few stores; no lock, no
// allocation. If the ring is full, the new record is dropped and counted: older records show how the problem began.
// Invariant: tail <= head <= tail + capacity; the writer owns records [head, tail + capacity), the reader [tail, head).
// These occupy at most n + 1 blocks, where n blocks hold the capacity, and there are n + 1: one is always free for the
// writer. Block v in order of use is at places_[v % (n + 1)].
// Memory order: head is released by the writer after the record and the place of its block, and acquired by the reader;
// tail is released by the reader and acquired by the writer, which then reuses the blocks before it.
// Example: probe/record/test/trace_ring_test.cpp

class trace_ring {
 public:
  static constexpr std::size_t most_block_records = std::size_t{1} << 12;  // 128 KiB

  /// Holds `records`, rounded up to a power of two. Memory is touched only as it is used.
  explicit trace_ring(std::size_t records)
      : capacity_(std::bit_ceil(records < 2 ? 2 : records)),
        block_records_(std::min(capacity_, most_block_records)),
        n_places_(capacity_ / block_records_ + 1),
        records_(std::make_unique_for_overwrite<trace_record[]>(n_places_ * block_records_)),
        places_(std::make_unique<trace_record*[]>(n_places_)) {}

  /// Called by the worker. Returns false, and counts the record as lost, if the ring is full.
  bool push(const trace_record& r) noexcept {
    trace_record* at = place_at_once();
    if (at == nullptr) [[unlikely]]
      return push_elsewhere(r);
    *at = r;
    written_at(at);
    return true;
  }
  /// Called by the worker: the place of the next record if no bookkeeping but written_at() is needed, otherwise null.
  trace_record* place_at_once() const noexcept { return next_ != end_ ? next_ : nullptr; }
  /// See place_at_once().
  void written_at(trace_record* at) noexcept {
    next_ = at + 1;
    head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // pairs with drain_spans()
  }
  /// Called by the worker: place_at_once() returns null until the next push().
  void look_anew() noexcept { end_ = next_; }
  /// Two records that belong together: both or neither are pushed.
  void push(const trace_record& first, const trace_record& second) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // own store
    if (!room_for(2, head)) return detail::add(lost_, 2);
    write(head, first);
    write(head + 1, second);
    look_anew();
    head_.store(head + 2, std::memory_order_release);  // pairs with the acquire in drain_spans()
  }

  /// Calls take(records) with spans of all records so far, oldest first, and frees their places. Returns their number.
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
  /// The same, one record at a time.
  template <class Take>
  std::size_t drain(Take&& take) {
    return drain_spans([&](std::span<const trace_record> some) {
      for (const trace_record& r : some) take(r);
    });
  }

  /// In records.
  std::size_t capacity() const noexcept { return capacity_; }
  /// Records dropped because the ring was full.
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// All records pushed so far, without lost ones.
  std::uint64_t pushed() const noexcept { return head_.load(std::memory_order_relaxed); }
  /// Records whose memory has been touched: the blocks in use.
  std::size_t touched() const noexcept { return fresh_.load(std::memory_order_relaxed) * block_records_; }

 private:
  bool room_for(std::uint64_t n, std::uint64_t head) noexcept {
    if (head + n - seen_tail_ <= capacity_) [[likely]]
      return true;
    see_tail();
    return head + n - seen_tail_ <= capacity_;
  }
  void see_tail() noexcept { seen_tail_ = tail_.load(std::memory_order_acquire); }  // pairs with drain_spans()

  /// At the end of a block, or of the places known to be free.
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
  // Requires: room for the block's first record. If no drained block is left, an unused one exists: see the invariant.
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
  // The place of the next record, and the end of the block or of the places known to be free.
  trace_record* next_ = nullptr;
  trace_record* end_ = nullptr;
  std::uint64_t seen_tail_ = 0;  // the writer's last reading of tail_, to avoid access to the reader's cache line
  trace_record* block_ = nullptr;
  std::uint64_t reused_ = 0;  // the number of the oldest block whose memory was not reused
  std::atomic<std::size_t> fresh_{0};
  detail::counter lost_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

// Internal: worker_log::record_traced(), which writes most of a trace.
//
// Thread safety and cost: as in worker_log.hpp.

[[gnu::always_inline]] inline void worker_log::record_traced(const task_slice& s) noexcept {
  trace_ring* const ring = ring_.load(std::memory_order_acquire);  // pairs with the release in set_ring()
  trace_record* const at = ring != nullptr && rates_.load(std::memory_order_relaxed) == nullptr
                               ? ring->place_at_once()  // also null while edges wait for their record
                               : nullptr;
  if (at != nullptr && detail::pack_own_slice(*at, first_id_, s.begin, s.end, s.key, packed(s), s.id, s.cause, s.ready))
      [[likely]]
    ring->written_at(at);
  else
    add_trace_otherwise(s.begin, s.end, s.key, packed(s), s.id, s.cause, s.ready);
  count(s, mode_.load(std::memory_order_relaxed));
}

}  // namespace plx::probe
