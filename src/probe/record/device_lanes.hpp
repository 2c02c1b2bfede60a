// Operations of devices, recorded by the code that submits them: one lane per stream, with a record of each operation
// and sums per name. Lanes become rows of the trace below the workers.
//
// Thread safety: all functions are thread-safe. Cost: mode() is a relaxed load, for the submitting code; add() takes a
// lock that only readers contend for, about 50 ns; memory: 64 bytes per kept record.
// Example: trace/test/device_lanes_test.cpp; the recording code: gpu/core/timeline.hpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "probe/record/names.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::probe {

/// Kinds of device operations.
enum class device_work : std::uint8_t { kernel, copy, fill, graph };
/// "kernel", ...
std::string_view text_of(device_work w) noexcept;

/// One operation of a stream, from its start to its end on the device, in ticks of this process.
struct device_operation {
  ticks begin = 0;
  ticks end = 0;
  ticks submitted = 0;       // by a task or a thread, before `begin`
  task_id from = 0;          // that task; 0: unknown
  std::uint64_t number = 0;  // in the lane; increasing
  std::uint64_t bytes = 0;   // read and written, as far as known
  name_id name = unnamed;
  std::uint32_t items = 0;  // in a launch
  device_work kind = device_work::kernel;
  bool failed = false;
  bool part = false;  // operations with the same number are parts of one call
};

/// All operations of one name and kind on one device. Times in seconds.
struct device_statistics {
  std::string device;  // "gpu 0 (NVIDIA H200)"
  name_id id = unnamed;
  std::string_view name;
  device_work kind = device_work::kernel;
  std::uint64_t calls = 0;
  std::uint64_t items = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;
  double total_s = 0;
  double min_s = 0;
  double max_s = 0;
};

/// Totals of a device. Times in seconds.
struct device_times {
  std::string device;
  unsigned lanes = 0;
  std::uint64_t operations = 0;
  std::uint64_t lost = 0;  // operations without a record
  double busy_s = 0;       // with at least one operation running
  double known_s = 0;      // from the first submission to the last end
};

/// The latest operations of a lane.
struct recent_operations {
  std::string lane;  // "gpu 0 (NVIDIA H200), stream 1"
  std::vector<trace_slice> slices;
  ticks known_from = 0;
};

class device_lanes;
class trace_sink;  // trace_sink.hpp

/// The operations of one stream.
class device_lane {
 public:
  device_lane(device_lanes& home, unsigned device, std::string name, task_id first)
      : home_(home), device_(device), name_(std::move(name)), first_(first) {}

  /// The id of an operation in edges. Requires: number >= 1.
  [[nodiscard]] task_id id_of(std::uint64_t number) const noexcept { return first_ + (number & 0xffffffff); }
  /// The number of the next operation. Called only by the owner of the lane.
  [[nodiscard]] std::uint64_t next_number() noexcept { return ++numbers_; }
  /// Adds an operation, in any order. Edges refer to the last to end of the operations with one number.
  void add(const device_operation& o);
  /// The newest operations recorded while look() was in effect, in order and without overlap, that ended after `from`.
  /// `known_from` is 0 if there are none.
  [[nodiscard]] recent_operations recent(ticks from) const;
  /// Counts `n` operations as lost: their buffer was full or their times are unavailable.
  void lose(std::uint64_t n);
  /// Releases the lane, for reuse by another stream of the same name.
  void give_back() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  friend class device_lanes;
  struct sums {
    std::uint64_t calls = 0, items = 0, failed = 0, bytes = 0;
    ticks total = 0, shortest = ~ticks{0}, longest = 0;
    // The newest call that is recorded in parts: its number, its time so far, and the shortest of the other calls.
    std::uint64_t newest = 0;
    ticks so_far = 0, shortest_before = ~ticks{0};

    /// Returns false if the operation belongs to the previous call.
    bool add(const device_operation& o);
  };

  device_lanes& home_;
  const unsigned device_;
  const std::string name_;
  const task_id first_;
  std::uint64_t numbers_ = 0;
  std::atomic<bool> taken_{true};

  static constexpr std::size_t most_recent = std::size_t{1} << 12;

  mutable std::mutex lock_;  // guards the members below
  std::vector<std::vector<device_operation>> kept_;
  std::vector<trace_slice> recent_;  // the newest slices; slice i is at i % most_recent
  std::uint64_t n_recent_ = 0;
  std::unordered_map<std::uint64_t, sums> by_name_;  // by name and kind
};

class device_lanes {
 public:
  enum bits : unsigned { statistics = 1, tracing = 2, watching = 4 };
  /// How operations are timed: not at all; by events recorded around them; by the library's activity records if
  /// available, otherwise by events.
  enum class source : std::uint8_t { none, events, activity };

  /// `first_row`: the first trace row of the lanes. `space`: that of the recorder's ids.
  device_lanes(unsigned first_row, unsigned space) : first_row_(first_row), space_(space) {}

  /// The data to record now: 0, or some of `bits`. Submitting code checks it for each operation. Relaxed, orders
  /// nothing.
  [[nodiscard]] unsigned mode() const noexcept { return mode_.load(std::memory_order_relaxed); }
  /// Enables sums per operation, for the profile.
  void set_statistics(bool on) { set(statistics, on); }
  /// Enables records of individual operations, for the trace.
  void set_tracing(bool on) { set(tracing, on); }
  /// Keeps the newest operations of each lane for the next few seconds, for recent().
  void look();
  /// Default: events. None: mode() is always 0.
  void set_source(source s);
  /// The source set by set_source().
  [[nodiscard]] source get_source() const noexcept { return source_.load(std::memory_order_relaxed); }
  /// The file of the library with activity records; "": the default location.
  void set_library(std::string file);
  /// The file set by set_library().
  [[nodiscard]] std::string library() const;
  /// Registers `flush(arg)`, which must record all operations completed so far; it is called before tracing ends and
  /// before data is read, possibly by several threads, until it is removed.
  void add_flush(void (*flush)(void* arg), void* arg);
  /// Returns when no call with `arg` is in progress.
  void remove_flush(void* arg);

  /// A lane for that device and name, reused or new. Null if there are 2^15 lanes.
  device_lane* take(std::string_view device, std::string_view lane);

  /// The lanes with operations recorded since look(), in order of device and lane.
  [[nodiscard]] std::vector<recent_operations> recent(ticks from) const;
  /// Statistics of all operations, largest total first.
  [[nodiscard]] std::vector<device_statistics> work() const;
  /// Times by device, in order of registration.
  [[nodiscard]] std::vector<device_times> times() const;

  /// For the recorder: discards the records so far.
  void forget();
  /// The number of kept records.
  [[nodiscard]] std::uint64_t kept() const noexcept { return kept_.load(std::memory_order_relaxed); }
  /// The number of operations lost, or without times.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// Appends the rows of all lanes, with their edges.
  void collect(trace_data& into) const;
  /// Passes the kept records to `to`, and discards them; returns their number. `flush`: first those of operations
  /// completed so far. `named`: by lane, whether `to` has its name.
  std::uint64_t drain(trace_sink& to, bool flush, std::vector<bool>& named);
  /// Sorts the operations of a lane into one row; each begins after the end of the one before. The edges are from the
  /// operation before it and from the submitting task. `first`: the base of the lane's ids.
  static void put_row(task_id first, std::vector<device_operation> all, std::vector<trace_slice>& row,
                      std::vector<trace_edge>& edges);

  static constexpr std::uint64_t most_kept = std::uint64_t{1} << 22;

 private:
  friend class device_lane;
  /// The times in which a device was busy: disjoint spans, the older ones merged into a sum.
  class busy_time {
   public:
    void add(ticks begin, ticks end);
    [[nodiscard]] ticks sum() const;

   private:
    struct span {
      ticks begin, end;
    };
    std::vector<span> spans_;
    ticks closed_ = 0, closed_until_ = 0;
  };
  struct device {
    std::string name;
    std::uint64_t operations = 0, lost = 0;
    ticks first = ~ticks{0}, last = 0;
    busy_time busy;
  };
  void set(unsigned bit, bool on);
  void publish();
  /// Whether to keep the record for the trace, and whether to keep it for recent().
  struct destinations {
    bool keep = false, show = false;
  };
  destinations note(unsigned device, const device_operation& o, bool new_call);

  const unsigned first_row_, space_;
  std::atomic<unsigned> mode_{0};
  std::atomic<source> source_{source::events};
  std::atomic<std::uint64_t> kept_{0}, lost_{0};
  void flush() const;

  mutable std::mutex flush_lock_;  // held during flush calls: taken before the other locks
  std::vector<std::pair<void (*)(void*), void*>> flushes_;
  mutable std::mutex lock_;  // guards the members below; taken after a lane's
  std::string library_;
  unsigned wanted_ = 0;
  ticks traced_from_ = 0;
  ticks watched_from_ = 0, watched_until_ = 0;
  std::vector<std::unique_ptr<device>> devices_;
  std::vector<std::unique_ptr<device_lane>> lanes_;
};

}  // namespace plx::probe
