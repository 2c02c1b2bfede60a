// The last slices of one worker, overwritten by newer ones: the data available after a crash.
//
// Thread safety: one writer (push), any number of readers at any time, including signal handlers. Cost: a push takes a
// few stores; no lock, no allocation. A reader never gets a partly written record: it drops those overwritten while it
// read.
// Invariant: record i, for head - capacity <= i < head, is completely in slot i & mask.
// Memory order: head is released after the record; a reader acquires it, copies the record, and then checks which
// record is being written (a seqlock whose number is that of the record): records that the writer may have reached
// meanwhile are dropped.
// Example: probe/crash/test/flight_ring_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "probe/record/worker_log.hpp"

namespace plx::probe {

/// The task of a slice in a flight ring, and what made it ready: a record of a second ring, with the times of the
/// slice.
struct flight_link {
  ticks begin = 0;
  ticks end = 0;
  task_id id = 0;
  task_id cause = 0;  // 0: unknown; a task, perhaps with last_input_bit; or a join

  /// As a record of the second ring.
  trace_record packed() const noexcept {
    return {begin, end, id, static_cast<name_id>(cause), static_cast<std::uint32_t>(cause >> 32)};
  }
  /// From a record of the second ring.
  static flight_link from(const trace_record& r) noexcept {
    return {r.begin, r.end, r.key, task_id{r.flags} << 32 | r.name};
  }
};

class flight_ring {
 public:
  /// Holds `records` (32 bytes each), rounded up to a power of two. Memory is touched only as it is used.
  explicit flight_ring(std::size_t records)
      : mask_(std::bit_ceil(records < 2 ? 2 : records) - 1),
        words_(std::make_unique_for_overwrite<std::uint64_t[]>(4 * (mask_ + 1))) {}

  /// Called by the worker.
  void push(const trace_record& r) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // own store
    writing_.store(head + 1, std::memory_order_relaxed);
    // release: pairs with the acquires in copy(). A reader that sees a word of this record also sees `writing_`.
    const std::size_t to = 4 * (head & mask_);
    word(to + 0).store(r.begin, std::memory_order_release);
    word(to + 1).store(r.end, std::memory_order_release);
    word(to + 2).store(r.key, std::memory_order_release);
    word(to + 3).store(std::uint64_t{r.flags} << 32 | r.name, std::memory_order_release);
    head_.store(head + 1, std::memory_order_release);  // pairs with the acquire in read()
  }

  /// Calls take(record) for all records, oldest first. Async-signal-safe if `take` is.
  template <class Take>
  void read(Take&& take) const {
    const std::uint64_t head = head_.load(std::memory_order_acquire);  // pairs with the release in push()
    trace_record r;
    for (std::uint64_t i = oldest(head); i != head; ++i)
      if (copy(i, r)) take(r);
  }

  /// The same for slices that lie at least partly in [from, to). Returns how many records were read for it: some 17 to
  /// find the first one by halving, and one after the last one. Requires: a slice ends before the next one begins.
  template <class Take>
  std::size_t read_between(ticks from, ticks to, Take&& take) const {
    const std::uint64_t head = head_.load(std::memory_order_acquire);  // pairs with the release in push()
    std::size_t visited = 0;
    trace_record r;
    for (std::uint64_t i = first_ending_after(from, oldest(head), head, visited); i != head; ++i) {
      ++visited;
      if (!copy(i, r)) continue;
      if (r.begin >= to) break;
      take(r);
    }
    return visited;
  }

  /// Numbers of records, for sample().
  struct range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;  // the one after
  };
  /// The slices that lie at least partly in [from, to). Adds the number of records that were read for it to `visited`:
  /// some 35. Requires: as read_between().
  range find(ticks from, ticks to, std::size_t& visited) const {
    const std::uint64_t head = head_.load(std::memory_order_acquire);  // pairs with the release in push()
    const std::uint64_t first = first_ending_after(from, oldest(head), head, visited);
    std::uint64_t last = first_ending_after(to, first, head, visited);
    trace_record r;
    if (last != head && copy(last, r) && r.begin < to) ++last;
    return {first, last};
  }
  /// The slices of a range, as a sample: calls take(record, slices, weight), where the record stands for that number of
  /// slices, and its length times `weight` for their time. Blocks of up to `stride` neighbours that last less than
  /// `within` in all are represented by their first and last slice; all others are passed singly (1, 1.0), hence every
  /// slice that is as long as `within`. Returns how many records were read: about 2 n / stride, and 4 log2(stride) for
  /// each slice or gap that is as long as `within`. Requires: as read_between().
  template <class Take>
  std::size_t sample(const range& slices, ticks within, std::uint64_t stride, Take&& take) const {
    std::size_t visited = 0;
    for (std::uint64_t i = slices.first; i < slices.last;) {
      const std::uint64_t end = std::min(i + (stride < 1 ? 1 : stride), slices.last);
      sample_block(i, end, within, take, visited);
      i = end;
    }
    return visited;
  }

  /// When the oldest slice begins that has not been overwritten; 0 while none was.
  ticks known_from() const noexcept {
    const std::uint64_t head = head_.load(std::memory_order_acquire);  // pairs with the release in push()
    trace_record r{};
    if (head > mask_ + 1)
      for (std::uint64_t i = oldest(head); i != head && !copy(i, r);) ++i;
    return r.begin;
  }

  /// In records.
  std::size_t capacity() const noexcept { return mask_ + 1; }
  /// The number of records pushed so far.
  std::uint64_t pushed() const noexcept { return head_.load(std::memory_order_relaxed); }

 private:
  std::atomic_ref<std::uint64_t> word(std::size_t i) const noexcept { return std::atomic_ref(words_[i]); }
  /// The first record in [first, head) that ends after `t`; one that was overwritten meanwhile is too old.
  std::uint64_t first_ending_after(ticks t, std::uint64_t first, std::uint64_t head, std::size_t& visited) const {
    trace_record r;
    for (std::uint64_t last = head; first != last;) {
      const std::uint64_t middle = first + (last - first) / 2;
      ++visited;
      if (!copy(middle, r) || r.end <= t)
        first = middle + 1;
      else
        last = middle;
    }
    return first;
  }
  template <class Take>
  void sample_block(std::uint64_t i, std::uint64_t end, ticks within, Take& take, std::size_t& visited) const {
    trace_record a, b;
    const std::uint64_t n = end - i;
    visited += n == 1 ? 1 : 2;
    if (n == 1) {
      if (copy(i, a)) take(std::as_const(a), std::uint64_t{1}, 1.0);
      return;
    }
    if (!copy(end - 1, b)) return;  // overwritten, and so are those before
    if (copy(i, a) && b.end < a.begin + within) {
      // The sum of n slices of the mean length, but not more than the time in which they ran.
      const double sum = static_cast<double>(a.end - a.begin + b.end - b.begin), half = static_cast<double>(n) / 2;
      const double weight = std::min(half, sum > 0 ? static_cast<double>(b.end - a.begin) / sum : half);
      take(std::as_const(a), n - n / 2, weight);
      take(std::as_const(b), n / 2, weight);
      return;
    }
    const std::uint64_t middle = i + n / 2;
    sample_block(i, middle, within, take, visited);
    sample_block(middle, end, within, take, visited);
  }
  std::uint64_t oldest(std::uint64_t head) const noexcept { return head > mask_ + 1 ? head - mask_ - 1 : 0; }
  /// False if record `i` has been overwritten.
  bool copy(std::uint64_t i, trace_record& r) const noexcept {
    const std::size_t from = 4 * (i & mask_);
    r.begin = word(from + 0).load(std::memory_order_acquire);
    r.end = word(from + 1).load(std::memory_order_acquire);
    r.key = word(from + 2).load(std::memory_order_acquire);
    const std::uint64_t last = word(from + 3).load(std::memory_order_acquire);
    r.name = static_cast<name_id>(last);
    r.flags = static_cast<std::uint32_t>(last >> 32);
    return writing_.load(std::memory_order_relaxed) <= i + mask_ + 1;
  }

  const std::size_t mask_;
  std::unique_ptr<std::uint64_t[]> words_;  // atomics would be set to 0, which would touch all of the memory
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> writing_{0};  // the number of records written or being written
};

}  // namespace plx::probe
