// What one worker has measured: statistics per task name, cost per key, and, when switched on, a trace.
//
// Thread safety: one writer (the worker), any number of readers at any time. Each number is read whole, but numbers
// that
//   belong together may be one task apart while the worker runs.
// Cost: record() with statistics about 2 ns, with a key about 1 ns more, traced about 4 ns more (bench/probe).
//   It takes no lock and no heap once a worker has met the name and the key; memory grows in chunks, out of line.
// Memory order: counters are relaxed, they order nothing. Chunk pointers are released by the writer after the chunk is
//   constructed, and acquired by readers; chunks live until the log dies.
// Example: probe/worker_log_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/clock.hpp"
#include "probe/names.hpp"

namespace plx::probe {

/// A piece of a task between two boundaries: it started or was resumed at `begin`, ended or was suspended at `end`.
struct task_slice {
  name_id name = unnamed;
  std::uint64_t key = no_key;  // the object worked on: a block of the mesh, a Markov chain
  ticks begin = 0;
  ticks end = 0;
  bool finished = true;  // false: the task was suspended and another piece will follow
  ticks earlier = 0;  // time in the earlier pieces of this task, if the caller keeps it: then a call's length is exact
};

namespace detail {

using counter = std::atomic<std::uint64_t>;

/// Adds for the only writer: a load and a store, no locked instruction.
inline void add(counter& c, std::uint64_t n) noexcept {
  c.store(c.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

/// Statistics of one name on one worker. calls, time, squares, shortest, longest are of finished tasks; open_* of
/// pieces that ended suspended and whose task has not told their time as `earlier`. Invariant: time + open_time is all
/// time spent under the name; calls + open_pieces counts all record() calls.
struct alignas(64) name_cell {
  counter calls{0};
  counter time{0};
  std::atomic<double> squares{0.0};
  counter shortest{~0ull};
  counter longest{0};
  counter open_time{0};
  counter open_pieces{0};
};

struct key_cell {
  counter time{0};
  counter calls{0};
};

/// A cell of the table for keys too large to be an index. `key` is no_key while the cell is free, and is set once.
struct hashed_key_cell {
  counter key{no_key};
  key_cell cost;
};

inline constexpr unsigned name_chunk_bits = 7;  // 128 cells, 8 KiB
inline constexpr unsigned key_chunk_bits = 10;  // 1024 cells, 16 KiB
inline constexpr std::uint64_t dense_keys = 1ull << 20;

struct name_chunk {
  std::array<name_cell, 1u << name_chunk_bits> cells;
};
struct key_chunk {
  std::array<key_cell, 1u << key_chunk_bits> cells;
};
struct hashed_keys;  // open addressing, worker_log.cpp

}  // namespace detail

/// One record of the trace.
struct trace_record {
  ticks begin;
  ticks end;
  std::uint64_t key;
  name_id name;
  std::uint32_t flags;  // bit 0: finished; bit 1: had earlier pieces
};
static_assert(sizeof(trace_record) == 32);

class trace_ring;  // trace_ring.hpp

/// What one worker records: one thread writes, any read.
class alignas(64) worker_log {
 public:
  enum mode_bits : std::uint32_t { statistics = 1, costs = 2, tracing = 4 };

  worker_log() = default;
  ~worker_log();
  worker_log(const worker_log&) = delete;
  worker_log& operator=(const worker_log&) = delete;

  // For the worker.

  /// Counts one piece of a task. Requires: called by this log's worker only.
  void record(const task_slice& s) noexcept {
    const std::uint32_t mode = mode_.load(std::memory_order_relaxed);
    const ticks length = s.end > s.begin ? s.end - s.begin : 0;  // counters of two sockets may differ by some ticks
    if ((mode & statistics) != 0) [[likely]]
      add_statistics(s, length);
    if (s.key != no_key && (mode & costs) != 0) add_cost(s, length);
    if ((mode & tracing) != 0) [[unlikely]]
      add_trace(s);
  }
  /// Time without a ready task.
  void idle(ticks begin, ticks end) noexcept { detail::add(idle_, end > begin ? end - begin : 0); }
  /// Time of managing tasks: scheduling, stealing, switching.
  void overhead(ticks t) noexcept { detail::add(overhead_, t); }
  /// Time of polling and other background work.
  void background(ticks t) noexcept { detail::add(background_, t); }

  // For anyone.

  /// Sums of the spans recorded as such, in ticks.
  ticks idle_time() const noexcept { return idle_.load(std::memory_order_relaxed); }
  /// Likewise.
  ticks overhead_time() const noexcept { return overhead_.load(std::memory_order_relaxed); }
  /// Likewise.
  ticks background_time() const noexcept { return background_.load(std::memory_order_relaxed); }

  /// The cells of a name, or nullptr if this worker has not met it or one of its neighbours.
  const detail::name_cell* name(name_id id) const noexcept;

  /// Calls visit(key, ticks, calls) for each key with any cost, in no particular order.
  template <class Visitor>
  void for_each_key(Visitor&& visit) const {
    using visitor = std::remove_reference_t<Visitor>;
    visit_keys([](void* v, std::uint64_t key, ticks t, std::uint64_t n) { (*static_cast<visitor*>(v))(key, t, n); },
               const_cast<void*>(static_cast<const void*>(&visit)));
  }
  /// Pieces whose key found no place because this worker met more than 2^20 large keys.
  std::uint64_t lost_costs() const noexcept { return lost_costs_.load(std::memory_order_relaxed); }
  /// Pieces recorded so far.
  std::uint64_t pieces() const noexcept;

  // For the recorder that owns the log (from any thread, one at a time).

  /// What is recorded from now on: bits of mode_bits.
  void set_mode(std::uint32_t bits) noexcept { mode_.store(bits, std::memory_order_release); }
  /// What is recorded.
  std::uint32_t mode() const noexcept { return mode_.load(std::memory_order_relaxed); }
  /// Requires: set before the mode bit `tracing`; stays until the log dies.
  void set_ring(trace_ring* ring) noexcept { ring_.store(ring, std::memory_order_release); }
  /// Null until tracing was switched on.
  trace_ring* ring() const noexcept { return ring_.load(std::memory_order_acquire); }

 private:
  using key_visitor = void (*)(void* context, std::uint64_t key, ticks time, std::uint64_t calls);

  void add_statistics(const task_slice& s, ticks length) noexcept {
    detail::name_cell& c = cell_of(s.name);
    if (!s.finished) [[unlikely]] {
      detail::add(c.open_time, length);
      detail::add(c.open_pieces, 1);
      return;
    }
    if (s.earlier != 0) [[unlikely]] {
      detail::add(c.open_time, ~s.earlier + 1);  // moves to `time`; modulo 2^64, so another worker's share cancels
      length += s.earlier;
    }
    const double d = static_cast<double>(static_cast<std::int64_t>(length));
    detail::add(c.calls, 1);
    detail::add(c.time, length);
    c.squares.store(c.squares.load(std::memory_order_relaxed) + d * d, std::memory_order_relaxed);
    if (length < c.shortest.load(std::memory_order_relaxed)) c.shortest.store(length, std::memory_order_relaxed);
    if (length > c.longest.load(std::memory_order_relaxed)) c.longest.store(length, std::memory_order_relaxed);
  }

  void add_cost(const task_slice& s, ticks length) noexcept {
    detail::key_cell& c = s.key < detail::dense_keys ? dense_cell(s.key) : hashed_cell(s.key);
    detail::add(c.time, length);
    detail::add(c.calls, s.finished ? 1 : 0);
  }

  detail::name_cell& cell_of(name_id id) noexcept {
    if (id >= max_names) [[unlikely]]
      id = unnamed;
    const unsigned which = id >> detail::name_chunk_bits;
    detail::name_chunk* chunk = names_[which].load(std::memory_order_relaxed);  // own store: no ordering needed
    if (chunk == nullptr) [[unlikely]]
      chunk = new_name_chunk(which);
    return chunk->cells[id & ((1u << detail::name_chunk_bits) - 1)];
  }

  detail::key_cell& dense_cell(std::uint64_t key) noexcept {
    const std::uint64_t which = key >> detail::key_chunk_bits;
    detail::key_chunk* chunk = keys_[which].load(std::memory_order_relaxed);  // own store
    if (chunk == nullptr) [[unlikely]]
      chunk = new_key_chunk(which);
    return chunk->cells[key & ((1u << detail::key_chunk_bits) - 1)];
  }

  [[gnu::cold]] detail::name_chunk* new_name_chunk(unsigned which) noexcept;
  [[gnu::cold]] detail::key_chunk* new_key_chunk(std::uint64_t which) noexcept;
  detail::key_cell& hashed_cell(std::uint64_t key) noexcept;
  [[gnu::cold]] detail::hashed_keys* grow_hashed() noexcept;
  void add_trace(const task_slice& s) noexcept;
  void visit_keys(key_visitor visit, void* context) const;

  std::atomic<std::uint32_t> mode_{statistics | costs};
  std::atomic<trace_ring*> ring_{nullptr};
  detail::counter idle_{0};
  detail::counter overhead_{0};
  detail::counter background_{0};
  std::atomic<detail::hashed_keys*> hashed_{nullptr};
  detail::counter lost_costs_{0};
  detail::key_cell no_place_;  // takes what lost_costs_ counts
  std::array<std::atomic<detail::name_chunk*>, (max_names >> detail::name_chunk_bits)> names_{};
  std::array<std::atomic<detail::key_chunk*>, (detail::dense_keys >> detail::key_chunk_bits)> keys_{};
};

}  // namespace plx::probe
