// What devices did, as those tell who submit work to them: a lane per stream, with a record of each operation and sums
// per name. Lanes become rows of the trace below the workers.
//
// Thread safety: everything. Cost: mode() a relaxed load, for who
// submits; add() a lock that nobody else holds but who reads, some 50 ns; memory 64 bytes per record that is kept.
// Example: trace/test/device_lanes_test.cpp; who fills them: gpu/core/timeline.hpp
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

/// Kinds of operations.
enum class device_work : std::uint8_t { kernel, copy, fill, graph };
/// "kernel", ...
std::string_view text_of(device_work w) noexcept;

/// One operation of a stream, from its first to its last moment on the device, in ticks of this process.
struct device_operation {
  ticks begin = 0;
  ticks end = 0;
  ticks submitted = 0;       // by a task or a thread, before `begin`
  task_id from = 0;          // that task; 0: not told
  std::uint64_t number = 0;  // of the lane; grows
  std::uint64_t bytes = 0;   // read and written, as far as that is known
  name_id name = unnamed;
  std::uint32_t items = 0;  // in a launch
  device_work kind = device_work::kernel;
  bool failed = false;
  bool part = false;  // those of one number are parts of one call
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

/// A device as a whole. Times in seconds.
struct device_times {
  std::string device;
  unsigned lanes = 0;
  std::uint64_t operations = 0;
  std::uint64_t lost = 0;  // of which nothing is known
  double busy_s = 0;       // at least one operation was on it
  double known_s = 0;      // from the first submission to the last end
};

/// What one lane did last.
struct recent_operations {
  std::string lane;  // "gpu 0 (NVIDIA H200), stream 1"
  std::vector<trace_slice> slices;
  ticks known_from = 0;
};

class device_lanes;

/// The operations of one stream.
class device_lane {
 public:
  device_lane(device_lanes& home, unsigned device, std::string name, task_id first)
      : home_(home), device_(device), name_(std::move(name)), first_(first) {}

  /// What stands for an operation in edges. Requires: number >= 1.
  [[nodiscard]] task_id id_of(std::uint64_t number) const noexcept { return first_ + (number & 0xffffffff); }
  /// The number of the next operation. By who has taken the lane.
  [[nodiscard]] std::uint64_t next_number() noexcept { return ++numbers_; }
  /// In any order; of those of one number the last one to end is what edges mean.
  void add(const device_operation& o);
  /// The newest of those that were noted while somebody looked, in order and without overlap: what ended after `from`.
  /// `known_from` is 0 when there were none at all.
  [[nodiscard]] recent_operations recent(ticks from) const;
  /// So many found no room, or their times could not be had.
  void lose(std::uint64_t n);
  /// What is added from now on is another stream's of the same name, or nobody's.
  void give_back() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  friend class device_lanes;
  struct sums {
    std::uint64_t calls = 0, items = 0, failed = 0, bytes = 0;
    ticks total = 0, shortest = ~ticks{0}, longest = 0;
    // The newest call that is told in parts: its number, what it took so far, and the shortest of the others.
    std::uint64_t newest = 0;
    ticks so_far = 0, shortest_before = ~ticks{0};

    /// False: it belongs to the call before.
    bool add(const device_operation& o);
  };

  device_lanes& home_;
  const unsigned device_;
  const std::string name_;
  const task_id first_;
  std::uint64_t numbers_ = 0;
  std::atomic<bool> taken_{true};

  static constexpr std::size_t most_recent = std::size_t{1} << 12;

  mutable std::mutex lock_;  // guards what follows
  std::vector<std::vector<device_operation>> kept_;
  std::vector<trace_slice> recent_;  // the newest ones, at their number % most_recent
  std::uint64_t n_recent_ = 0;
  std::unordered_map<std::uint64_t, sums> by_name_;  // by name and kind
};

class device_lanes {
 public:
  enum bits : unsigned { statistics = 1, tracing = 2, watching = 4 };
  /// How times are had: not at all; by events that are recorded around operations; by the library's activity records
  /// where it has any, else by events.
  enum class source : std::uint8_t { none, events, activity };

  /// `first_row`: of the trace, for the lanes. `space`: of the recorder's ids.
  device_lanes(unsigned first_row, unsigned space) : first_row_(first_row), space_(space) {}

  /// What is wanted now: 0, or some of `bits`. Whoever submits looks each time. Relaxed, orders nothing.
  [[nodiscard]] unsigned mode() const noexcept { return mode_.load(std::memory_order_relaxed); }
  /// Whether sums per operation are wanted, for the profile.
  void set_statistics(bool on) { set(statistics, on); }
  /// Whether records of single operations are wanted, for the trace.
  void set_tracing(bool on) { set(tracing, on); }
  /// Somebody looks: for the next seconds the newest operations of each lane are kept, for recent().
  void look();
  /// Events, unless somebody says otherwise. None: mode() is 0 whatever else is wanted.
  void set_source(source s);
  /// As set_source() has said.
  [[nodiscard]] source get_source() const noexcept { return source_.load(std::memory_order_relaxed); }
  /// The file of the library that has activity records; "": where it usually is.
  void set_library(std::string file);
  /// As set_library() has said.
  [[nodiscard]] std::string library() const;
  /// `flush(arg)` tells all that is known by now, before tracing ends and before anything is read. From the call on
  /// until it is removed; it may be called by several threads.
  void add_flush(void (*flush)(void* arg), void* arg);
  /// Returns when no call with `arg` is under way.
  void remove_flush(void* arg);

  /// A lane of that device and name: one that was given back, or a new one. Null when there are 2^15.
  device_lane* take(std::string_view device, std::string_view lane);

  /// The lanes that did anything while somebody looked, in order of device and lane.
  [[nodiscard]] std::vector<recent_operations> recent(ticks from) const;
  /// The largest total first.
  [[nodiscard]] std::vector<device_statistics> work() const;
  /// By device, in the order in which they came.
  [[nodiscard]] std::vector<device_times> times() const;

  /// For the recorder: drops the records so far.
  void forget();
  /// How many records there are.
  [[nodiscard]] std::uint64_t kept() const noexcept { return kept_.load(std::memory_order_relaxed); }
  /// How many operations found no room, or have no times.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// Appends the rows of all lanes, with their edges.
  void collect(trace_data& into) const;
  /// In order, none before the one before has ended. What else it waited for: the task that submitted it.
  static void put_row(const device_lane& l, std::vector<device_operation> all, std::vector<trace_slice>& row,
                      std::vector<trace_edge>& edges);

  static constexpr std::uint64_t most_kept = std::uint64_t{1} << 22;

 private:
  friend class device_lane;
  /// Times in which anything was on a device: spans that do not overlap, the older ones summed up.
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
  /// Whether the record is for the trace, and there is room; whether somebody looks.
  struct wish {
    bool keep = false, show = false;
  };
  wish note(unsigned device, const device_operation& o, bool new_call);

  const unsigned first_row_, space_;
  std::atomic<unsigned> mode_{0};
  std::atomic<source> source_{source::events};
  std::atomic<std::uint64_t> kept_{0}, lost_{0};
  void flush() const;

  mutable std::mutex flush_lock_;  // held while they are called: outside of the others
  std::vector<std::pair<void (*)(void*), void*>> flushes_;
  mutable std::mutex lock_;  // guards what follows; inside a lane's
  std::string library_;
  unsigned wanted_ = 0;
  ticks traced_from_ = 0;
  ticks watched_from_ = 0, watched_until_ = 0;
  std::vector<std::unique_ptr<device>> devices_;
  std::vector<std::unique_ptr<device_lane>> lanes_;
};

}  // namespace plx::probe
