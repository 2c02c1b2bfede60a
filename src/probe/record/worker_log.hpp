// What one worker has measured: statistics per task name, cost per key, and, when switched on, a trace.
//
// Thread safety: one writer (the worker), any number of readers at any time. Each number is read whole, but numbers
// that
//   belong together may be one task apart while the worker runs.
// Cost: record() with statistics about 2 ns, with a key about 1 ns more, traced about 4 ns more (bench/probe).
//   It takes no lock and no heap once a worker has met the name and the key; memory grows in chunks, out of line.
// Memory order: counters are relaxed, they order nothing. Chunk pointers are released by the writer after the chunk is
//   constructed, and acquired by readers; chunks live until the log dies.
// Example: probe/record/test/worker_log_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/clock.hpp"
#include "probe/record/names.hpp"
#include "probe/record/task_event.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::probe {

/// A piece of a task between two boundaries: it started or was resumed at `begin`, ended or was suspended at `end`.
struct task_slice {
  name_id name = unnamed;
  std::uint64_t key = no_key;  // the object worked on: a block of the mesh, a Markov chain
  ticks begin = 0;
  ticks end = 0;
  bool finished = true;  // false: the task was suspended and another piece will follow
  ticks earlier = 0;  // time in the earlier pieces of this task, if the caller keeps it: then a call's length is exact
  // For a trace, when the caller knows them (trace_data.hpp says what they mean):
  task_id id = 0;
  task_id cause = 0;  // who made it ready
  ticks ready = 0;
};

/// How many recorders want to know where tasks come from (then ids are given and edges are noted), and, times 65536,
/// how many are watched by an observer. Relaxed, orders nothing.
inline std::atomic<unsigned> wanted{0};
/// What each wish adds to `wanted`.
inline constexpr unsigned wants_edges = 1;
/// Likewise.
inline constexpr unsigned wants_events = 1u << 16;

namespace detail {

using counter = std::atomic<std::uint64_t>;

/// Adds for the only writer: a load and a store, no locked instruction.
inline void add(counter& c, std::uint64_t n) noexcept {
  c.store(c.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

/// A sum of spans, of which the last may not have ended yet: then it grows with the clock. One writer, any readers.
class open_sum {
 public:
  void begin(ticks at) noexcept {
    const std::uint64_t x = x_.load(std::memory_order_relaxed);
    if ((x & 1) == 0) x_.store((((x >> 1) - at) << 1) | 1, std::memory_order_relaxed);
  }
  void add(ticks from, ticks to, ticks less) noexcept {
    const std::uint64_t x = x_.load(std::memory_order_relaxed);
    const std::uint64_t more = (x & 1) != 0 ? to : to > from ? to - from : 0;
    x_.store(((x >> 1) + (more > less ? more - less : 0)) << 1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool open() const noexcept { return (x_.load(std::memory_order_relaxed) & 1) != 0; }
  /// `less`: what does not count of a span that has not ended. Never less than a call before gave: the clocks of two
  /// sockets may differ, and the clock may be read before the sum.
  [[nodiscard]] ticks sum(ticks less = 0) const noexcept {
    const std::uint64_t x = x_.load(std::memory_order_relaxed);
    const ticks now = ((x >> 1) + ((x & 1) != 0 ? now_ticks() - less : 0)) & (~std::uint64_t{0} >> 1);
    ticks before = largest_.load(std::memory_order_relaxed);
    if (now > ~std::uint64_t{0} >> 2) return before;  // below 0: the reader's clock is behind
    while (now > before)
      if (largest_.compare_exchange_weak(before, now, std::memory_order_relaxed)) return now;
    return before;
  }

 private:
  mutable std::atomic<ticks> largest_{0};  // that sum() gave; by readers
  // Modulo 2^63: the closed sum, or, with the lowest bit set, the closed sum less the time the open span began at.
  std::atomic<std::uint64_t> x_{0};
};

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
  std::uint32_t trace_turn = 0;  // the worker's own: of the pieces since one in so many is traced
};
static_assert(sizeof(name_cell) == 64);

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

/// Of each name, one piece in how many is traced: 1 all, and what they waited for; 0 none. Written by a recorder, read
/// by all its workers.
struct trace_rates {
  std::array<std::atomic<std::uint16_t>, max_names> every;

  /// One piece of `name` in how many is traced. Cost: a load.
  [[nodiscard]] std::uint32_t of(name_id name) const noexcept {
    return every[name < max_names ? name : unnamed].load(std::memory_order_relaxed);
  }
};

/// One record of the trace. A link says of the slice that follows it which task it is a piece of, who made that ready,
/// and when. After an edge, up to five more of the same moment may follow in one record: begin, end and key hold where
/// they lead to, `name` is the lower half of where they come from. Most slices are one packed record:
/// trace_packing.hpp. One that stands for others that are not traced is not: its flags say how many from `every_shift`
/// on.
struct trace_record {
  enum kind_bits : std::uint32_t { finished = 1, resumed = 2, is_link = 4, is_edge = 8, is_more = 16 };
  static constexpr unsigned every_shift = 16;

  std::uint64_t begin;  // of a slice, in ticks; of a link: the task's id; of an edge: from
  std::uint64_t end;    // of a slice, in ticks; of a link: the id of the cause; of an edge: to
  std::uint64_t key;    // of a slice; of a link: when it was ready, in ticks; of an edge: when
  name_id name;
  std::uint32_t flags;
};
static_assert(sizeof(trace_record) == 32);

/// Times between becoming ready and beginning, of a sample of the tasks: how many lie in [2^i, 2^(i+1)) ticks.
struct ready_waits {
  static constexpr unsigned n_bins = 48;
  detail::counter samples{0};
  detail::counter total{0};
  detail::counter longest{0};
  std::array<detail::counter, n_bins> bins{};
};

class trace_ring;   // trace_ring.hpp
class flight_ring;  // flight_ring.hpp

/// What one worker records: one thread writes, any read.
class alignas(64) worker_log {
 public:
  enum mode_bits : std::uint32_t { statistics = 1, costs = 2, tracing = 4, watching = 8 };

  /// `index`: the worker's number; `space`: its recorder's, so that ids of several recorders differ.
  explicit worker_log(unsigned index = 0, unsigned space = 0) noexcept
      : index_(index), first_id_(task_id{space & 0x3f} << 56 | (task_id{index} + 1) << 40) {}
  ~worker_log();
  worker_log(const worker_log&) = delete;
  worker_log& operator=(const worker_log&) = delete;

  // For the worker.

  /// Counts one piece of a task. Requires: called by this log's worker only.
  void record(const task_slice& s) noexcept {
    const std::uint32_t mode = mode_.load(std::memory_order_relaxed);
    count(s, mode);
    if ((mode & (tracing | watching)) == 0) [[likely]]
      return;
    if ((mode & tracing) != 0) add_trace(s.begin, s.end, s.key, packed(s), s.id, s.cause, s.ready);
    if ((mode & watching) != 0) tell_end(s.begin, s.end, s.key, packed(s), s.earlier);
  }
  /// The same for who has asked traces(): in probe/record/trace_ring.hpp, without a call in the ordinary case.
  void record_traced(const task_slice& s) noexcept;
  /// Whether pieces are recorded for a trace now, and nobody is told of them beside.
  [[nodiscard]] bool traces() const noexcept {
    return (mode_.load(std::memory_order_relaxed) & (tracing | watching)) == tracing;
  }
  /// A task of this worker needs an id: one that no other task of the process and run has.
  [[nodiscard]] task_id next_id() noexcept { return first_id_ + ++ids_; }
  /// See trace_edge; told by a task of this name. Dropped while tracing is off, or not all tasks of that name are
  /// traced.
  void edge(task_id from, task_id to, ticks when, name_id name = unnamed) noexcept;
  /// A task lay ready for so long before it began: of a sample of them.
  void ready_wait(ticks t) noexcept;
  /// The longest path of tasks, each the cause of the next, that has ended here; see recorder::span_s().
  void path(ticks length) noexcept {
    if (length > longest_path_.load(std::memory_order_relaxed)) longest_path_.store(length, std::memory_order_relaxed);
  }
  /// Tells the observer, if there is one, of what no record() tells.
  void tell(task_event_kind kind, name_id name, std::uint64_t key, ticks when) noexcept {
    if ((mode_.load(std::memory_order_relaxed) & watching) != 0) [[unlikely]]
      tell_observer({.kind = kind, .name = name, .key = key, .worker = index_, .when = when});
  }
  /// Time without a ready task, less what is counted as background time within it. Ends what idle_begins() began, from
  /// there.
  void idle(ticks begin, ticks end, ticks less = 0) noexcept { idle_.add(begin, end, less); }
  /// A long time without a ready task begins: idle_time() grows from here on, until idle(), less the background time
  /// that is added to `background_before`. A second call does nothing.
  void idle_begins(ticks begin, ticks background_before) noexcept {
    if (idle_.open()) return;
    background_before_.store(background_before, std::memory_order_relaxed);
    idle_.begin(begin);
  }
  /// As above, with the background time of now.
  void idle_begins(ticks begin) noexcept { idle_begins(begin, background_time()); }
  /// Whether idle_begins() was called and idle() was not.
  [[nodiscard]] bool idles() const noexcept { return idle_.open(); }
  /// Time of searching for a task, in searches so short (below 2 us) that they do not count as idle. Making, starting
  /// and ending a task is part of the time of tasks.
  void overhead(ticks t) noexcept { detail::add(overhead_, t); }
  /// Time of polling and other background work.
  void background(ticks t) noexcept { detail::add(background_, t); }

  // For anyone.

  /// Sums of the spans recorded as such, in ticks.
  ticks idle_time() const noexcept {
    if (!idle_.open()) return idle_.sum();
    const ticks before = background_before_.load(std::memory_order_relaxed), now = background_time();
    return idle_.sum(now > before ? now - before : 0);
  }
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
  /// The worker's number in its recorder.
  unsigned index() const noexcept { return index_; }
  /// What ready_wait() was told.
  const ready_waits& waits() const noexcept { return waits_; }
  /// In ticks.
  ticks longest_path() const noexcept { return longest_path_.load(std::memory_order_relaxed); }
  /// Edges recorded so far, links of slices and lost ones included; those of one moment are one.
  std::uint64_t edges() const noexcept;

  // For the recorder that owns the log (from any thread, one at a time).

  /// What is recorded from now on: bits of mode_bits.
  void set_mode(std::uint32_t bits) noexcept { mode_.store(bits, std::memory_order_release); }
  /// What is recorded.
  std::uint32_t mode() const noexcept { return mode_.load(std::memory_order_relaxed); }
  /// Requires: set before the mode bit `tracing`; stays until the log dies.
  void set_ring(trace_ring* ring) noexcept { ring_.store(ring, std::memory_order_release); }
  /// The last pieces of at least `from` ticks go there; it stays until the log dies. Null switches off.
  void set_flight(flight_ring* ring, ticks from) noexcept;
  /// Null when there never was one.
  flight_ring* flight() const noexcept { return flight_.load(std::memory_order_acquire); }
  /// How many of the pieces are traced; null: all. It must live as long as the log.
  void set_trace_rates(const trace_rates* r) noexcept { rates_.store(r, std::memory_order_release); }
  /// Who is told while the mode bit `watching` is set. It must live as long as the log.
  void set_observer(task_observer* o) noexcept { observer_.store(o, std::memory_order_release); }
  /// Null until tracing was switched on.
  trace_ring* ring() const noexcept { return ring_.load(std::memory_order_acquire); }

 private:
  using key_visitor = void (*)(void* context, std::uint64_t key, ticks time, std::uint64_t calls);

  void count(const task_slice& s, std::uint32_t mode) noexcept {
    const ticks length = s.end > s.begin ? s.end - s.begin : 0;  // counters of two sockets may differ by some ticks
    if ((mode & statistics) != 0) [[likely]]
      add_statistics(s, length);
    if (s.key != no_key && (mode & costs) != 0) add_cost(s, length);
    if (length >= flight_from_.load(std::memory_order_relaxed)) add_flight(s.begin, s.end, s.key, packed(s));
  }

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
  /// The name, and in the upper half the flags of a trace_record.
  static std::uint64_t packed(const task_slice& s) noexcept {
    const std::uint64_t flags =
        (s.finished ? trace_record::finished : 0u) | (s.earlier != 0 ? trace_record::resumed : 0u);
    return flags << 32 | s.name;
  }
  // One by one: a slice that had to lie in memory would cost those who do not trace.
  [[gnu::noinline]] void add_flight(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags) noexcept;
  [[gnu::noinline]] void add_trace(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags, task_id id,
                                   task_id cause, ticks ready) noexcept;
  [[gnu::noinline]] void push_unpacked(trace_ring& ring, const trace_record& slice, task_id id, task_id cause,
                                       ticks ready) noexcept;
  [[gnu::noinline]] void add_trace_otherwise(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags,
                                             task_id id, task_id cause, ticks ready) noexcept;
  [[gnu::noinline]] void edge_otherwise(task_id from, task_id to, ticks when, name_id name) noexcept;
  [[gnu::cold]] void tell_end(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags,
                              ticks earlier) noexcept;
  [[gnu::noinline]] void push_more_edges(trace_ring& ring) noexcept;
  void tell_observer(const task_event& e) noexcept;
  void visit_keys(key_visitor visit, void* context) const;

  const unsigned index_;
  const task_id first_id_;
  std::atomic<std::uint32_t> mode_{statistics | costs};
  std::atomic<ticks> flight_from_{~ticks{0}};
  std::atomic<flight_ring*> flight_{nullptr};
  std::atomic<trace_ring*> ring_{nullptr};
  std::uint64_t ids_ = 0;
  std::atomic<task_observer*> observer_{nullptr};
  std::atomic<const trace_rates*> rates_{nullptr};
  detail::counter longest_path_{0};
  detail::counter n_other_{0};  // records, lost ones too, that tell of no edge
  task_id last_edge_from_ =
      0;  // the newest one that has a record of its own, and those of its moment that have none yet
  ticks last_edge_when_ = 0;
  std::array<task_id, 3> more_edges_{};
  unsigned n_more_edges_ = 0;
  ready_waits waits_;
  detail::open_sum idle_;
  detail::counter overhead_{0};
  detail::counter background_{0};
  detail::counter background_before_{0};  // when the idle time that has not ended began
  std::atomic<detail::hashed_keys*> hashed_{nullptr};
  detail::counter lost_costs_{0};
  detail::key_cell no_place_;  // takes what lost_costs_ counts
  std::array<std::atomic<detail::name_chunk*>, (max_names >> detail::name_chunk_bits)> names_{};
  std::array<std::atomic<detail::key_chunk*>, (detail::dense_keys >> detail::key_chunk_bits)> keys_{};
};

}  // namespace plx::probe
