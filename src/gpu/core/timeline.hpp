// When operations were on a device: timed events around them in their streams, read when a completion behind them is
// retired, and told to the runtime's recorder (probe/record/device_lanes.hpp) in our time.
//
// An operation is a place in its stream's ring from its submission until its times are read. In a chain, whose
// operations are put in one after the other, the end of one is the begin of the next: a begin has an event of its own
// only where the stream may have been empty or waited for another one.
// By activity records, where the backend has them, no event is recorded: a submission has a tag, and detail/
// activity_book.hpp tells of it when its records come.
// Thread safety: begin() and what follows it, under the stream's put_lock; reading, by the poller. Cost: off, a load
// and a branch per operation; on, one or two records of an event (0.14 us each on CUDA), and as many questions for the
// time between two when they are read. No allocation once the rings and events are there, and nobody waits; but for the
// first operation, which waits for some 0.1 ms until the device's clock is known. Invariants: tail <= head <= tail +
// capacity; the submitter owns places [head, tail + capacity), the poller [tail, head). head is released after the
// place is filled, and acquired by the poller; tail the other way round. Example: gpu/test/timeline_test.cpp
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
#include "gpu/core/activity_book.hpp"
#include "gpu/core/completion.hpp"
#include "probe/record/device_lanes.hpp"

namespace plx::gpu::detail {

// From a device's clock to ours. The device's differs in where it begins and a little in how fast it goes: so now and
// then an event is recorded in a stream that is empty, and its moment lies between two looks at our clock.
//
// Thread safety: none. Cost: plain arithmetic. Example: gpu/core/test/device_clock_test.cpp

class device_clock {
 public:
  [[nodiscard]] bool known() const noexcept { return known_; }

  /// Something happened at `device_s` of the device, not before `before` and not after `after` of ours. Requires: later
  /// than what was observed before, and before <= after.
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
    // What was known foretells it within a microsecond or so, better than one look. A look that was disturbed tells
    // bounds and no more.
    double now = from_base(device_s);
    if (window <= 2 * narrowest_) now += (earliest + window / 2 - now) / 4;
    now = std::clamp(now, earliest, latest);
    narrowest_ = std::min(narrowest_, window);
    last_s_ = device_s;
    last_ = now;
    if (device_s - first_s_ >= shortest_base_s) rate_ = (last_ - first_) / (last_s_ - first_s_);
  }

  /// Our time of a moment of the device. Requires: known().
  [[nodiscard]] ticks at(double device_s) const noexcept {
    const double t = from_base(device_s);
    return t > 0 ? base_ + static_cast<ticks>(t) : base_ - static_cast<ticks>(-t);
  }

 private:
  static constexpr double shortest_base_s = 1;  // below, half a window says too little of the rate
  [[nodiscard]] double from_base(double device_s) const noexcept { return last_ + (device_s - last_s_) * rate_; }

  bool known_ = false;
  ticks base_ = 0;
  double first_s_ = 0, last_s_ = 0;  // of the device
  double first_ = 0, last_ = 0;      // our ticks since base_
  double narrowest_ = 0;
  double rate_ = ticks_per_second();
};

/// Of the moments first, first + 1, ... before `end`, which `moment(k)` gives in seconds and in order of time, the
/// number of the one nearest to `at_s`. Requires: first < end. Cost: a look at those behind it.
template <class F>
std::uint32_t nearest_moment(std::uint32_t first, std::uint32_t end, double at_s, F&& moment) {
  std::uint32_t k = end - 1;
  while (k > first && at_s - moment(k - 1) < moment(k) - at_s) --k;
  return k;
}

class device_core;
class stream_core;

/// An operation on its way.
struct pending_operation {
  const any_operation* operation = nullptr;  // of a kernel
  native_event begin = nullptr;              // null: where the one before ended
  native_event end = nullptr;
  ticks submitted = 0;
  ticks path = 0;  // the longest path of tasks that leads here
  probe::task_id from = 0;
  std::uint64_t number = 0, bytes = 0;
  std::uint64_t tag = 0;  // by activity records
  std::uint32_t items = 0;
  std::uint32_t reference = 0;  // the newest of the clock when it was submitted
  probe::name_id name = probe::unnamed;
  probe::device_work kind = probe::device_work::kernel;
};

/// The operations of a stream.
struct stream_timeline {
  static constexpr std::uint64_t capacity = 2048;

  // --- who submits
  std::unique_ptr<pending_operation[]> ring;
  probe::device_lane* lane = nullptr;
  pending_operation by_activity;  // while it is put in
  std::uint64_t newest_tag = 0;   // of the last operation; 0: it is timed by events
  ticks path_here = 0;            // the longest path that leads to any operation by activity records
  ticks last_submitted = 0;
  bool chained = false;       // nothing but operations since the last one
  probe::task_id newest = 0;  // the last operation; 0: it is not recorded
  std::atomic<std::uint64_t> head{0};
  // Of what a graph is made, while it is captured.
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

  // --- who reads
  std::atomic<std::uint64_t> tail{0};
  ticks last_end = 0, path = 0;  // of the last one
  bool last_known = false;
  told_path told;

  /// Has what no future stands behind read before the ring is full.
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

  /// What is wanted now: of probe::device_lanes::bits.
  [[nodiscard]] unsigned mode() const noexcept { return lanes_.mode(); }

  /// In traces: "gpu 0 (NVIDIA H200)".
  [[nodiscard]] std::string device_name() const;

  // --- who submits; see `timed`
  pending_operation* begin(stream_core& s) noexcept;
  void end(stream_core& s, pending_operation& p) noexcept;
  void abandon(stream_core& s, pending_operation& p) noexcept;
  /// `c` stands behind all operations so far.
  void stand_behind(stream_core& s, completion& c) const noexcept;

  // --- the poller
  /// Reads the operations before `c`, whose place is reached.
  void reached(stream_core& s, completion& c) noexcept;
  /// Compares the clocks now and then.
  void look() noexcept;
  /// Reads all of the stream, which is done, and gives its lane back.
  void close(stream_core& s) noexcept;
  /// The stream's operations are not known to end: they are lost.
  void leave(stream_core& s) noexcept;
  /// Frees the clock's stream. Requires: the streams are closed.
  void free_stream() noexcept;
  /// For who frees them.
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
  bool compare_clocks(double patience_s) noexcept;
  native_event take_event() noexcept;
  void give_event(native_event e) noexcept;
  bool time_of(native_event e, std::uint32_t newest, ticks& when) noexcept;
  void read(stream_core& s, std::uint64_t until, bool failed) noexcept;
  void read_one(stream_core& s, const pending_operation& p, bool failed) noexcept;
  probe::name_id name_of(const pending_operation& p) noexcept;

  device_core& home_;
  probe::device_lanes& lanes_;

  // Whether activity records are had: asked once they are wanted.
  enum class records : std::uint8_t { not_asked, on, none };
  std::atomic<records> records_{records::not_asked};

  plx::detail::spinlock events_lock_;
  std::vector<native_event> events_, all_events_;

  std::mutex clock_lock_;
  std::atomic<bool> clock_known_{false};
  ticks next_try_ = 0;  // guarded by clock_lock_
  native_stream clock_stream_ = nullptr;
  std::atomic<std::uint32_t> n_references_{0};
  std::array<reference, references_kept> references_{};  // written by who compares clocks
  device_clock clock_;
  ticks next_look_ = 0;

  const any_operation* last_named_ = nullptr;  // the poller's
  probe::name_id last_name_ = probe::unnamed;
};

/// An operation while it is put in a stream: nothing is recorded unless done() is called. Under the stream's put_lock.
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
