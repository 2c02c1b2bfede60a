// Measurements of one worker: statistics per task name, cost per key and, if enabled, a trace.
//
// Thread safety: one writer (the worker), any number of readers at any time. Each number is read atomically, but
// related numbers may differ by one task while the worker runs.
// Cost: record() with statistics about 2 ns, with a key about 1 ns more, traced about 4 ns more (bench/probe). It takes
// no lock and does not allocate for a known name and key; memory grows in chunks, out of line.
// Memory order: counters are relaxed, they order nothing. Chunk pointers are released by the writer after the chunk is
// constructed, and acquired by readers; chunks live as long as the log.
// Example: probe/record/test/worker_log_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/clock.hpp"
#include "probe/record/duration_histogram.hpp"
#include "probe/record/idle_balance.hpp"
#include "probe/record/names.hpp"
#include "probe/record/task_event.hpp"
#include "probe/record/trace_data.hpp"
#include "probe/record/wanted.hpp"

namespace plx::probe {

/// A slice of a task: it started or was resumed at `begin`, and ended or was suspended at `end`.
struct task_slice {
  name_id name = unnamed;
  std::uint64_t key = no_key;  // the object of the task: a block of the mesh, a Markov chain
  ticks begin = 0;
  ticks end = 0;
  bool finished = true;  // false: the task was suspended, and another slice will follow
  ticks earlier = 0;  // time in earlier slices of this task, if the caller keeps it: makes the duration of a call exact
  // For a trace, if known to the caller (see trace_data.hpp):
  task_id id = 0;
  task_id cause = 0;  // the task that made it ready
  ticks ready = 0;
};

namespace detail {

using counter = std::atomic<std::uint64_t>;

/// Adds without a locked instruction: there is only one writer.
inline void add(counter& c, std::uint64_t n) noexcept {
  c.store(c.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

/// A sum of spans, of which the last may be open: it then grows with the clock. One writer, any readers.
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
  /// `less`: the part of an open span that does not count. The result never decreases, although the clocks of two
  /// sockets may differ and the clock may be read before the sum.
  [[nodiscard]] ticks sum(ticks less = 0) const noexcept {
    const std::uint64_t x = x_.load(std::memory_order_relaxed);
    const ticks now = ((x >> 1) + ((x & 1) != 0 ? now_ticks() - less : 0)) & (~std::uint64_t{0} >> 1);
    ticks before = largest_.load(std::memory_order_relaxed);
    if (now > ~std::uint64_t{0} >> 2) return before;  // negative: the reader's clock is behind
    while (now > before)
      if (largest_.compare_exchange_weak(before, now, std::memory_order_relaxed)) return now;
    return before;
  }

 private:
  mutable std::atomic<ticks> largest_{0};  // result of sum(); written by readers
  // Modulo 2^63: the closed sum or, with the lowest bit set, the closed sum minus the start of the open span.
  std::atomic<std::uint64_t> x_{0};
};

/// Statistics of one name on one worker. calls, time, squares, shortest, longest are those of finished tasks; open_* of
/// slices that ended suspended and whose time is not yet part of `earlier`. Invariant: time + open_time is all time
/// spent under the name; calls + open_pieces is the number of record() calls.
struct alignas(64) name_cell {
  counter calls{0};
  counter time{0};
  std::atomic<double> squares{0.0};
  counter shortest{~0ull};
  counter longest{0};
  counter open_time{0};
  counter open_pieces{0};
  std::uint32_t trace_turn = 0;  // used by the worker only: slices since the last traced one
};
static_assert(sizeof(name_cell) == 64);

/// The blame of a name on one worker, in ticks: see idle_balance.hpp, and worker_log::held_up().
struct blame_cell {
  std::atomic<double> idle{0.0};
  counter lock_waits{0};
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

inline constexpr unsigned name_chunk_bits = 7;  // 128 cells, 10 KiB; bins of their durations: 320 KiB, touched as used
inline constexpr unsigned names_of_chunk = 1u << name_chunk_bits;
inline constexpr unsigned key_chunk_bits = 10;  // 1024 cells, 16 KiB
inline constexpr std::uint64_t dense_keys = 1ull << 20;

struct name_chunk {
  explicit constexpr name_chunk(std::uint64_t* zeros) noexcept : durations(zeros) {}

  std::array<name_cell, names_of_chunk> cells{};
  std::array<blame_cell, names_of_chunk> blame{};
  std::uint64_t* const durations;  // [names_of_chunk][duration_histogram::n_bins], read and written by atomic_ref
};
struct key_chunk {
  std::array<key_cell, 1u << key_chunk_bits> cells;
};
struct hashed_keys;  // open addressing, worker_log.cpp

}  // namespace detail

/// For each name, the interval of traced slices: 1 all, with their edges; n one in n; 0 none. Written by a recorder,
/// read by all its workers.
struct trace_rates {
  std::array<std::atomic<std::uint16_t>, max_names> every;

  /// The interval for `name`. Cost: a load.
  [[nodiscard]] std::uint32_t of(name_id name) const noexcept {
    return every[name < max_names ? name : unnamed].load(std::memory_order_relaxed);
  }
};

/// One record of the trace. A link belongs to the slice that follows it: its task, the cause that made it ready, and
/// when. A record with up to five more edges of the same moment may follow an edge: begin, end and key hold their
/// targets, `name` the lower half of their source. A lock belongs to the slice after it, in which it was released; its
/// flags hold the number of waits for it, from `every_shift` on. Most slices are one packed record (trace_ring.hpp),
/// except those that represent slices that are not traced: their flags hold the interval, from `every_shift` on.
struct trace_record {
  enum kind_bits : std::uint32_t {
    finished = 1,
    resumed = 2,
    is_link = 4,
    is_edge = 8,
    is_more = 16,
    is_lock = 64,
    is_placement = 128
  };
  static constexpr unsigned every_shift = 16;

  std::uint64_t begin;  // of a slice or a lock, in ticks; of a link or a placement: the task's id; of an edge: from
  std::uint64_t end;    // of a slice or a lock, in ticks; of a link: the id of the cause; of an edge: to; of a
                        // placement: worker and priority
  std::uint64_t key;    // of a slice; of a lock: its object; of a link: when it was ready, in ticks; of an edge: when
  name_id name;
  std::uint32_t flags;
};
static_assert(sizeof(trace_record) == 32);

/// Histogram of the times from ready to start for a sample of the tasks: bin i counts times in [2^i, 2^(i+1)) ticks.
struct ready_waits {
  static constexpr unsigned n_bins = 48;
  detail::counter samples{0};
  detail::counter total{0};
  detail::counter longest{0};
  std::array<detail::counter, n_bins> bins{};
};

class trace_ring;    // trace_ring.hpp
class flight_ring;   // flight_ring.hpp
class slice_counts;  // slice_counts.hpp

/// The log of one worker: one thread writes, any thread reads.
class alignas(64) worker_log {
 public:
  enum mode_bits : std::uint32_t { statistics = 1, costs = 2, tracing = 4, watching = 8, counting = 16 };

  /// `index`: the worker's number; `space`: that of its recorder, so that ids of several recorders differ.
  explicit worker_log(unsigned index = 0, unsigned space = 0) noexcept
      : index_(index), first_id_(task_id{space & 0x3f} << 56 | (task_id{index} + 1) << 40) {}
  ~worker_log();
  worker_log(const worker_log&) = delete;
  worker_log& operator=(const worker_log&) = delete;

  // Called by the worker.

  /// Records one slice. Requires: called by this log's worker only.
  [[gnu::always_inline]] void record(const task_slice& s) noexcept {
    const std::uint32_t mode = mode_.load(std::memory_order_relaxed);
    count(s, mode);
    if ((mode & (tracing | watching | counting)) == 0) [[likely]]
      return;
    if ((mode & counting) != 0) count_events(s.name, s.end);
    if ((mode & tracing) != 0) add_trace(s.begin, s.end, s.key, packed(s), s.id, s.cause, s.ready);
    if ((mode & watching) != 0) notify_end(s.begin, s.end, s.key, packed(s), s.earlier);
  }
  /// The same if traces() is true: in probe/record/trace_ring.hpp, inline in the most frequent case.
  void record_traced(const task_slice& s) noexcept;
  /// Whether slices are recorded for a trace now, and for nothing else beside the statistics.
  [[nodiscard]] bool traces() const noexcept {
    return (mode_.load(std::memory_order_relaxed) & (tracing | watching | counting)) == tracing;
  }
  /// A new task id, unique in the process and run.
  [[nodiscard]] task_id next_id() noexcept { return first_id_ + ++ids_; }
  /// See trace_edge; `name` is that of the recording task. Dropped unless tracing is on for all tasks of that name.
  void edge(task_id from, task_id to, ticks when, name_id name = unnamed) noexcept;
  /// The running task has held a lock from `taken` to `released`; see trace_lock. Dropped unless tracing is on for all
  /// tasks. Requires: called before the record() of the slice in which it was released.
  void lock_held(ticks taken, ticks released, const void* object, name_id name, unsigned waits) noexcept;
  /// The task that starts has a fixed worker or a priority; see trace_placement.
  void placed(task_id id, unsigned worker, unsigned priority) noexcept;
  /// Records the time from ready to start of a task in the sample.
  void ready_wait(ticks t) noexcept;
  /// Records the longest path of dependent tasks that ended here; see recorder::span_s().
  void path(ticks length) noexcept {
    if (length > longest_path_.load(std::memory_order_relaxed)) longest_path_.store(length, std::memory_order_relaxed);
  }
  /// Passes an event that is not a record() to the observer, if any; `when` is the begin of the slice that follows.
  void notify(task_event_kind kind, name_id name, std::uint64_t key, ticks when) noexcept {
    if ((mode_.load(std::memory_order_relaxed) & (watching | counting)) != 0) [[unlikely]]
      notify_slowly({.kind = kind, .name = name, .key = key, .worker = index_, .when = when});
  }
  /// Adds time without a ready task, minus the background time within it. Closes the span of idle_begins(), from its
  /// start.
  void idle(ticks begin, ticks end, ticks less = 0) noexcept {
    idle_.add(begin, end, less);
    const ticks length = end > begin ? end - begin : 0;
    share_.ends(end, length > less ? length - less : 0);
  }
  /// Opens a long span without a ready task: idle_time() grows from here until idle(), except for background time
  /// beyond `background_before`. A second call has no effect.
  void idle_begins(ticks begin, ticks background_before) noexcept {
    if (idle_.open()) return;
    background_before_.store(background_before, std::memory_order_relaxed);
    idle_.begin(begin);
  }
  /// The same, with the present background time.
  void idle_begins(ticks begin) noexcept { idle_begins(begin, background_time()); }
  /// Whether a span of idle_begins() is open.
  [[nodiscard]] bool idles() const noexcept { return idle_.open(); }
  /// Adds time of searches for a task that are too short (below 2 us) to count as idle. Creating, starting and ending a
  /// task counts as time of tasks.
  void overhead(ticks t) noexcept { detail::add(overhead_, t); }
  /// Adds time of polling and other background work.
  void background(ticks t) noexcept { detail::add(background_, t); }

  // Blame for the idle time of other workers; without join() there is none.

  /// The worker begins, or ends, to take part.
  void join(idle_balance& b, ticks now) noexcept { share_.join(b, now); }
  void leave(ticks now) noexcept { share_.leave(now); }  ///< see join()
  /// The worker searches since `begin` and sleeps now; `parks`: because it may not take tasks. Call idle() at the end.
  void sleeps(ticks begin, ticks background_before, bool parks = false) noexcept;
  /// The worker polls from `now` on: it waits again after the next sleeps().
  void wakes(ticks now) noexcept { share_.pauses(now); }
  /// The worker has run no task since the last slice, or the last call.
  void ran_no_task(ticks now) noexcept {
    if (share_.due()) [[unlikely]]
      add_unattributed(now);
  }
  /// Others waited for `t` ticks, summed over them, for a lock that the running task of that name has held.
  void held_up(name_id name, ticks t) noexcept;

  // Called by any thread.

  /// Sums of the recorded spans, in ticks.
  ticks idle_time() const noexcept {
    if (!idle_.open()) return idle_.sum();
    const ticks before = background_before_.load(std::memory_order_relaxed), now = background_time();
    return idle_.sum(now > before ? now - before : 0);
  }
  /// In ticks.
  ticks overhead_time() const noexcept { return overhead_.load(std::memory_order_relaxed); }
  /// In ticks.
  ticks background_time() const noexcept { return background_.load(std::memory_order_relaxed); }

  /// The statistics of a name, or nullptr if this worker has not used it or a name of its chunk.
  const detail::name_cell* name(name_id id) const noexcept;
  /// The same of what it is blamed for.
  const detail::blame_cell* blame(name_id id) const noexcept;
  /// Adds the durations of finished tasks of a name to `to`.
  void add_durations(name_id id, duration_histogram& to) const noexcept;
  /// Idle time of other workers while this one was neither in a task nor idle, in ticks.
  double unattributed() const noexcept { return unattributed_.load(std::memory_order_relaxed); }

  /// Calls visit(key, ticks, calls) for each key with a cost, in no particular order.
  template <class Visitor>
  void for_each_key(Visitor&& visit) const {
    using visitor = std::remove_reference_t<Visitor>;
    visit_keys([](void* v, std::uint64_t key, ticks t, std::uint64_t n) { (*static_cast<visitor*>(v))(key, t, n); },
               const_cast<void*>(static_cast<const void*>(&visit)));
  }
  /// Slices whose cost is not recorded because this worker used more than 2^20 large keys.
  std::uint64_t lost_costs() const noexcept { return lost_costs_.load(std::memory_order_relaxed); }
  /// Slices recorded so far.
  std::uint64_t pieces() const noexcept;
  /// The worker's number in its recorder.
  unsigned index() const noexcept { return index_; }
  /// The histogram filled by ready_wait().
  const ready_waits& waits() const noexcept { return waits_; }
  /// In ticks.
  ticks longest_path() const noexcept { return longest_path_.load(std::memory_order_relaxed); }
  /// Edges recorded so far, including links of slices and lost edges; those of one moment count as one.
  std::uint64_t edges() const noexcept;

  // Called by the owning recorder (from any thread, one at a time).

  /// Sets what to record from now on: bits of mode_bits.
  void set_mode(std::uint32_t bits) noexcept { mode_.store(bits, std::memory_order_release); }
  /// The bits set by set_mode().
  std::uint32_t mode() const noexcept { return mode_.load(std::memory_order_relaxed); }
  /// Requires: called before the mode bit `tracing` is set. The ring must outlive the log.
  void set_ring(trace_ring* ring) noexcept { ring_.store(ring, std::memory_order_release); }
  /// Sets the ring for the last slices of at least `from` ticks; it must outlive the log. Null disables it.
  void set_flight(flight_ring* ring, ticks from) noexcept;
  /// Null if none was ever set.
  flight_ring* flight() const noexcept { return flight_.load(std::memory_order_acquire); }
  /// For each slice that set_flight() keeps and whose task has an id, its task and cause are kept in `ring` (see
  /// flight_link). It must outlive the log. Null: from now on they are not.
  void set_links(flight_ring* ring) noexcept { links_.store(ring, std::memory_order_release); }
  /// Null unless links are kept.
  flight_ring* links() const noexcept { return links_.load(std::memory_order_acquire); }
  /// Sets the intervals of traced slices; null: all. Must outlive the log.
  void set_trace_rates(const trace_rates* r) noexcept { rates_.store(r, std::memory_order_release); }
  /// Sets the observer, used while the mode bit `watching` is set. Must outlive the log.
  void set_observer(task_observer* o) noexcept { observer_.store(o, std::memory_order_release); }
  /// Sets where counts of slices go while the mode bit `counting` is set. Must outlive the log.
  void set_counts(slice_counts* c) noexcept { counts_.store(c, std::memory_order_release); }
  /// Null without set_counts().
  slice_counts* counts() const noexcept { return counts_.load(std::memory_order_acquire); }
  /// Null if tracing was never enabled.
  trace_ring* ring() const noexcept { return ring_.load(std::memory_order_acquire); }

 private:
  using key_visitor = void (*)(void* context, std::uint64_t key, ticks time, std::uint64_t calls);

  // Always inline: by a call the slice would be in memory, for 2 ns of each task.
  [[gnu::always_inline]] void count(const task_slice& s, std::uint32_t mode) noexcept {
    const ticks length = s.end > s.begin ? s.end - s.begin : 0;  // counters of two sockets may differ by a few ticks
    if ((mode & statistics) != 0) [[likely]] {
      name_id id = s.name;
      detail::name_chunk& chunk = chunk_of(id);
      add_statistics(s, length, chunk, id);
      if (share_.due()) [[unlikely]] {
        if (share_.changed()) [[unlikely]]
          add_blame(id, s.end);
        else if (const double charge = share_.take_more(s.end); charge != 0) {
          std::atomic<double>& idle = chunk.blame[id % detail::names_of_chunk].idle;
          idle.store(idle.load(std::memory_order_relaxed) + charge, std::memory_order_relaxed);
        }
      }
    }
    if (s.key != no_key && (mode & costs) != 0) add_cost(s, length);
    if (length >= flight_from_.load(std::memory_order_relaxed))
      add_flight(s.begin, s.end, s.key, packed(s), s.id, s.cause);
  }

  [[gnu::always_inline]] void add_statistics(const task_slice& s, ticks length, detail::name_chunk& chunk,
                                             name_id id) noexcept {
    detail::name_cell& c = chunk.cells[id % detail::names_of_chunk];
    if (!s.finished) [[unlikely]] {
      detail::add(c.open_time, length);
      detail::add(c.open_pieces, 1);
      return;
    }
    if (s.earlier != 0) [[unlikely]]
      length += s.earlier;
    const double d = static_cast<double>(static_cast<std::int64_t>(length));
    detail::add(c.calls, 1);
    detail::add(c.time, length);
    // It has moved to `time`: a reader in between counts it twice, but never misses it. Modulo 2^64, so that the share
    // of another worker cancels. release: pairs with the acquire of readers, which read open_time first.
    if (s.earlier != 0) [[unlikely]]
      c.open_time.store(c.open_time.load(std::memory_order_relaxed) - s.earlier, std::memory_order_release);
    c.squares.store(c.squares.load(std::memory_order_relaxed) + d * d, std::memory_order_relaxed);
    if (length < c.shortest.load(std::memory_order_relaxed)) c.shortest.store(length, std::memory_order_relaxed);
    if (length > c.longest.load(std::memory_order_relaxed)) c.longest.store(length, std::memory_order_relaxed);
    const std::atomic_ref bin(
        chunk.durations[id % detail::names_of_chunk * duration_histogram::n_bins + duration_histogram::bin_of(d)]);
    bin.store(bin.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  void add_cost(const task_slice& s, ticks length) noexcept {
    detail::key_cell& c = s.key < detail::dense_keys ? dense_cell(s.key) : hashed_cell(s.key);
    detail::add(c.time, length);
    detail::add(c.calls, s.finished ? 1 : 0);
  }

  detail::name_cell& cell_of(name_id id) noexcept { return chunk_of(id).cells[id % detail::names_of_chunk]; }

  /// The chunk with the cells of `id`, which becomes `unnamed` if it is too large.
  detail::name_chunk& chunk_of(name_id& id) noexcept {
    if (id >= max_names) [[unlikely]]
      id = unnamed;
    const unsigned which = id >> detail::name_chunk_bits;
    detail::name_chunk* chunk = names_[which].load(std::memory_order_relaxed);  // own store: no ordering needed
    if (chunk == nullptr) [[unlikely]]
      chunk = new_name_chunk(which);
    return *chunk;
  }

  detail::key_cell& dense_cell(std::uint64_t key) noexcept {
    const std::uint64_t which = key >> detail::key_chunk_bits;
    detail::key_chunk* chunk = keys_[which].load(std::memory_order_relaxed);  // own store
    if (chunk == nullptr) [[unlikely]]
      chunk = new_key_chunk(which);
    return chunk->cells[key & ((1u << detail::key_chunk_bits) - 1)];
  }

  [[gnu::noinline]] void add_blame(name_id name, ticks now) noexcept;
  void add_unattributed(ticks now) noexcept;
  [[gnu::cold]] detail::name_chunk* new_name_chunk(unsigned which) noexcept;
  [[gnu::cold]] detail::key_chunk* new_key_chunk(std::uint64_t which) noexcept;
  detail::key_cell& hashed_cell(std::uint64_t key) noexcept;
  [[gnu::cold]] detail::hashed_keys* grow_hashed() noexcept;
  /// The name, with the flags of a trace_record in the upper half.
  static std::uint64_t packed(const task_slice& s) noexcept {
    const std::uint64_t flags =
        (s.finished ? trace_record::finished : 0u) | (s.earlier != 0 ? trace_record::resumed : 0u);
    return flags << 32 | s.name;
  }
  // Separate arguments: a slice that had to be in memory would slow down runs without tracing.
  [[gnu::noinline]] void add_flight(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags, task_id id,
                                    task_id cause) noexcept;
  [[gnu::noinline]] void add_trace(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags, task_id id,
                                   task_id cause, ticks ready) noexcept;
  [[gnu::noinline]] void push_unpacked(trace_ring& ring, const trace_record& slice, task_id id, task_id cause,
                                       ticks ready) noexcept;
  [[gnu::noinline]] void add_trace_otherwise(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags,
                                             task_id id, task_id cause, ticks ready) noexcept;
  [[gnu::noinline]] void edge_otherwise(task_id from, task_id to, ticks when, name_id name) noexcept;
  [[gnu::cold]] void notify_end(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags,
                                ticks earlier) noexcept;
  [[gnu::noinline]] void push_more_edges(trace_ring& ring) noexcept;
  void push_other(const trace_record& r) noexcept;
  void notify_observer(const task_event& e) noexcept;
  [[gnu::cold]] void notify_slowly(const task_event& e) noexcept;
  [[gnu::cold]] void count_events(name_id name, ticks end) noexcept;
  void visit_keys(key_visitor visit, void* context) const;

  const unsigned index_;
  const task_id first_id_;
  std::atomic<std::uint32_t> mode_{statistics | costs};
  std::atomic<ticks> flight_from_{~ticks{0}};
  std::atomic<flight_ring*> flight_{nullptr};
  std::atomic<flight_ring*> links_{nullptr};  // read with every slice that is kept in flight_
  std::atomic<trace_ring*> ring_{nullptr};
  idle_share share_;
  std::atomic<double> unattributed_{0};
  std::uint64_t ids_ = 0;
  std::atomic<task_observer*> observer_{nullptr};
  std::atomic<slice_counts*> counts_{nullptr};
  std::atomic<const trace_rates*> rates_{nullptr};
  detail::counter longest_path_{0};
  detail::counter n_other_{0};  // records that are not edges, including lost ones
  // The newest edge that has a record of its own, and the edges of its moment that have none yet.
  task_id last_edge_from_ = 0;
  ticks last_edge_when_ = 0;
  std::array<task_id, 3> more_edges_{};
  unsigned n_more_edges_ = 0;
  ready_waits waits_;
  detail::open_sum idle_;
  detail::counter overhead_{0};
  detail::counter background_{0};
  detail::counter background_before_{0};  // when the open idle span began
  std::atomic<detail::hashed_keys*> hashed_{nullptr};
  detail::counter lost_costs_{0};
  detail::key_cell no_place_;  // the cost counted by lost_costs_
  std::array<std::atomic<detail::name_chunk*>, (max_names >> detail::name_chunk_bits)> names_{};
  std::array<std::atomic<detail::key_chunk*>, (detail::dense_keys >> detail::key_chunk_bits)> keys_{};
};

}  // namespace plx::probe
