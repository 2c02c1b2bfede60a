// Begin and end times of device operations: timed events around them in their streams, read when a later completion is
// retired and passed to the runtime's recorder (probe/record/device_lanes.hpp) on the clock of this process.
//
// An operation occupies a slot of its stream's ring from submission until its times are read. In a chain of operations
// submitted one after another, the end of one is the begin of the next; a begin has its own event only if the stream
// may have been empty or may have waited for another one. With activity records, where the backend has them, no events
// are recorded: a submission has a tag, and the activity_matcher reports it when its records arrive.
// Thread safety: submission under the stream's put_lock; reading by the poller only. Cost: off, a load and a branch per
//   operation; on, one or two event records (0.14 us each on CUDA), and as many calls of elapsed() when they are read.
//   No allocation once the rings and events exist, and no waiting, except that the first operation waits some 0.1 ms
//   for the calibration of the device's clock.
// Invariants: tail <= head <= tail + capacity; the submitter owns slots [head, tail + capacity), the poller
//   [tail, head). head is stored with release after the slot is filled, and loaded with acquire by the poller; tail the
//   other way round.
// Example: gpu/test/timeline_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "gpu/backend.hpp"
#include "gpu/core/completion.hpp"
#include "probe/record/device_lanes.hpp"

namespace plx::gpu::detail {

/// The longest path through a stream as far as its records have arrived. Guarded by the matcher's lock.
struct stream_path {
  std::uint64_t tag = 0;  // of the newest submission with a record
  ticks path = 0;
  ticks end = 0;
};

/// Matches activity records of the device library with the submissions that they belong to. A submission is identified
/// by its tag, a process-wide number that increases; the newest `places` submissions are kept.
///
/// Thread safety: all functions. Cost: a lock and a copy of 64 bytes per submission and per record.
/// Example: gpu/test/activity_test.cpp
class activity_matcher {
 public:
  static constexpr std::uint64_t places = std::uint64_t{1} << 14;

  /// The instance of the process.
  static activity_matcher& of_process();

  /// Begins a submission; `path` is the longest path that leads to it. Returns its tag. `owner` must live until
  /// leave().
  std::uint64_t submit(probe::device_lane& lane, stream_path& owner, ticks path = 0) noexcept;
  /// Describes a submission that has succeeded; the begin and end in `o` are not known yet.
  void describe(std::uint64_t tag, const probe::device_operation& o) noexcept;
  /// Removes a submission that was refused.
  void forget(std::uint64_t tag) noexcept;
  /// Handles an activity record; ignored if its tag is no longer known.
  void add_record(const activity& a) noexcept;
  /// The longest path through the submissions of `owner` up to `tag`, as far as records have arrived: a lower bound.
  [[nodiscard]] ticks path_behind(const stream_path& owner, std::uint64_t tag) noexcept;
  /// Removes the submissions of `owner`. Returns the number of those without a record.
  std::uint64_t leave(const stream_path& owner) noexcept;

 private:
  struct entry {
    std::uint64_t tag = 0;
    probe::device_lane* lane = nullptr;
    stream_path* owner = nullptr;
    ticks path = 0;  // longest path that leads here; once a record has arrived, including this submission
    probe::device_operation operation;
    bool described = false, has_record = false;
    std::vector<activity> early;  // arrived before describe()
  };
  static void grow(entry& e, const activity& a) noexcept;
  static void report(const entry& e, const activity& a);

  std::mutex lock_;
  std::uint64_t newest_ = 0;
  std::unique_ptr<std::array<entry, places>> entries_ = std::make_unique<std::array<entry, places>>();
};

// Converts times of a device's clock to the clock of this process. The two differ in origin and slightly in rate, so an
// event is recorded in an empty stream at intervals; its time lies between two readings of the host clock.
//
// Thread safety: none. Cost: plain arithmetic. Example: gpu/core/test/device_clock_test.cpp

class device_clock {
 public:
  [[nodiscard]] bool known() const noexcept { return known_; }

  /// An event at `device_s` of the device's clock happened between `before` and `after` of the host clock. Requires:
  /// later than earlier observations, and before <= after.
  void observe(double device_s, ticks before, ticks after) noexcept {
    const double window = static_cast<double>(after - before);
    if (!known_) {
      base_ = before;
      first_s_ = last_s_ = device_s;
      first_ = last_ = window / 2;
      narrowest_ = window;
      known_ = true;
      return;
    }
    const double earliest = static_cast<double>(before - base_), latest = earliest + window;
    // The current fit predicts the time to a microsecond or so, better than one observation. A disturbed observation
    // only bounds it.
    double now = from_base(device_s);
    if (window <= 2 * narrowest_) now += (earliest + window / 2 - now) / 4;
    now = std::clamp(now, earliest, latest);
    narrowest_ = std::min(narrowest_, window);
    last_s_ = device_s;
    last_ = now;
    if (device_s - first_s_ >= shortest_base_s) rate_ = (last_ - first_) / (last_s_ - first_s_);
  }

  /// Converts a time of the device. Requires: known().
  [[nodiscard]] ticks at(double device_s) const noexcept {
    const double t = from_base(device_s);
    return t > 0 ? base_ + static_cast<ticks>(t) : base_ - static_cast<ticks>(-t);
  }

 private:
  static constexpr double shortest_base_s = 1;  // shorter bases give an inaccurate rate
  [[nodiscard]] double from_base(double device_s) const noexcept { return last_ + (device_s - last_s_) * rate_; }

  bool known_ = false;
  ticks base_ = 0;
  double first_s_ = 0, last_s_ = 0;  // of the device
  double first_ = 0, last_ = 0;      // host ticks since base_
  double narrowest_ = 0;
  double rate_ = ticks_per_second();
};

/// `moment(k)` gives a time in seconds, increasing with k, for k in [first, end). Returns the k whose time is closest
/// to `at_s`. Requires: first < end. Cost: linear in the number of later elements.
template <class F>
std::uint32_t nearest_moment(std::uint32_t first, std::uint32_t end, double at_s, F&& moment) {
  std::uint32_t k = end - 1;
  while (k > first && at_s - moment(k - 1) < moment(k) - at_s) --k;
  return k;
}

class device_core;
class stream_core;

/// An operation whose times have not been read.
struct pending_operation {
  const any_operation* operation = nullptr;  // for kernels
  native_event begin = nullptr;              // null: the end of the previous operation
  native_event end = nullptr;
  ticks submitted = 0;
  ticks path = 0;  // the longest path of tasks that leads here
  probe::task_id from = 0;
  std::uint64_t number = 0, bytes = 0;
  std::uint64_t tag = 0;  // with activity records
  std::uint32_t items = 0;
  std::uint32_t reference = 0;  // the newest clock reference at submission
  probe::name_id name = probe::unnamed;
  probe::device_work kind = probe::device_work::kernel;
};

/// The timeline of a stream.
struct stream_timeline {
  static constexpr std::uint64_t capacity = 2048;

  // --- submission
  std::unique_ptr<pending_operation[]> ring;
  probe::device_lane* lane = nullptr;
  pending_operation by_activity;  // during submission
  std::uint64_t newest_tag = 0;   // of the last operation; 0: timed by events
  ticks path_here = 0;            // the longest path that leads to any operation with activity records
  ticks last_submitted = 0;
  bool chained = false;       // only operations were submitted since the last one
  probe::task_id newest = 0;  // the last operation; 0: not recorded
  std::atomic<std::uint64_t> head{0};
  // Contents of the graph being captured.
  std::uint32_t captured = 0;
  std::uint64_t captured_bytes = 0;
  const any_operation *captured_first = nullptr, *captured_last = nullptr;

  void begin_capture() noexcept {
    captured = 0, captured_bytes = 0;
    captured_first = captured_last = nullptr;
  }
  void note_captured(const any_operation* op, std::uint64_t bytes) noexcept {
    ++captured;
    captured_bytes += bytes;
    if (op == nullptr) return;
    if (captured_first == nullptr) captured_first = op;
    captured_last = op;
  }

  // --- the poller
  std::atomic<std::uint64_t> tail{0};
  ticks last_end = 0, path = 0;  // of the last operation read
  bool last_known = false;
  stream_path path_of_records;

  /// A completion that has operations read before the ring is full if the stream has no futures.
  struct marker final : completion {
    std::atomic<bool> out{false};
  } half_full;
};

class device_timeline {
 public:
  explicit device_timeline(device_core& d);
  ~device_timeline();
  device_timeline(const device_timeline&) = delete;
  device_timeline& operator=(const device_timeline&) = delete;

  /// The measurements requested now, of probe::device_lanes::bits.
  [[nodiscard]] unsigned mode() const noexcept { return lanes_.mode(); }

  /// Name in traces, such as "gpu 0 (NVIDIA H200)".
  [[nodiscard]] std::string device_name() const;

  // --- submission; see `timed`
  pending_operation* begin(stream_core& s) noexcept;
  void end(stream_core& s, pending_operation& p) noexcept;
  void abandon(stream_core& s, pending_operation& p) noexcept;
  /// Records in `c` that it follows all operations so far.
  void stand_behind(stream_core& s, completion& c) const noexcept;

  // --- the poller
  /// Reads the operations before `c`, whose point is reached.
  void reached(stream_core& s, completion& c) noexcept;
  /// Compares the clocks at intervals.
  void look() noexcept;
  /// Reads all operations of an idle stream and returns its lane.
  void close(stream_core& s) noexcept;
  /// Discards the stream's operations, which may never end.
  void leave(stream_core& s) noexcept;
  /// Frees the clock's stream. Requires: the streams are closed.
  void free_stream() noexcept;
  /// Passes ownership of the events to the caller.
  [[nodiscard]] std::vector<native_event> all_events() noexcept { return std::move(all_events_); }

 private:
  struct reference {
    native_event event = nullptr;
    double device_s = 0;  // since the first one
  };
  static constexpr unsigned references_kept = 64;

  bool ready() noexcept;
  bool by_activity() noexcept;
  bool start_records() noexcept;
  void note_submitter(pending_operation& p) noexcept;
  bool compare_clocks(double timeout_s) noexcept;
  native_event take_event() noexcept;
  void give_event(native_event e) noexcept;
  bool time_of(native_event e, std::uint32_t newest, ticks& when) noexcept;
  void read(stream_core& s, std::uint64_t until, bool failed) noexcept;
  void read_one(stream_core& s, const pending_operation& p, bool failed) noexcept;
  probe::name_id name_of(const pending_operation& p) noexcept;

  device_core& home_;
  probe::device_lanes& lanes_;

  // Whether activity records are available; determined when they are first requested.
  enum class records : std::uint8_t { not_asked, on, none };
  std::atomic<records> records_{records::not_asked};

  plx::detail::spinlock events_lock_;
  std::vector<native_event> events_, all_events_;

  std::mutex clock_lock_;
  std::atomic<bool> clock_known_{false};
  ticks next_try_ = 0;  // guarded by clock_lock_
  native_stream clock_stream_ = nullptr;
  std::atomic<std::uint32_t> n_references_{0};
  std::array<reference, references_kept> references_{};  // written by the thread that compares clocks
  device_clock clock_;
  ticks next_look_ = 0;

  const any_operation* last_named_ = nullptr;  // used by the poller only
  probe::name_id last_name_ = probe::unnamed;
};

/// An operation during its submission: recorded only if done() is called. Requires the stream's put_lock.
class timed {
 public:
  timed(device_timeline& t, stream_core& s) noexcept : of_(t), s_(s) {
    if (t.mode() != 0) [[unlikely]]
      p_ = t.begin(s);
  }
  ~timed() {
    if (p_ != nullptr) [[unlikely]]
      of_.abandon(s_, *p_);
  }
  timed(const timed&) = delete;
  timed& operator=(const timed&) = delete;

  void kernel(const any_operation& op, std::uint32_t items) noexcept {
    if (p_ == nullptr) return;
    p_->operation = &op;
    done(probe::device_work::kernel, probe::unnamed, 0, items);
  }
  void done(probe::device_work kind, probe::name_id name, std::uint64_t bytes, std::uint32_t items = 1) noexcept {
    if (p_ == nullptr) return;
    p_->kind = kind;
    p_->name = name;
    p_->bytes = bytes;
    p_->items = items;
    of_.end(s_, *std::exchange(p_, nullptr));
  }

 private:
  device_timeline& of_;
  stream_core& s_;
  pending_operation* p_ = nullptr;
};

}  // namespace plx::gpu::detail
