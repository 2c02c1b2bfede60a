// The implementation of a device: streams, their queues of completions, and the poll.
//
// Invariants: a completion is in exactly one of: its stream's queue, the finisher, a running function. `open_` counts
// the completions in queues; a stream with completions is in `busy_`. Queue order equals stream order, because both
// insertions happen under the stream's `put_lock`. After `lost_` is set, no completion is added to a queue.
// Lock order, outermost first: put_lock of a stream, list_lock_, queue_lock of a stream. events_lock_ may be taken
// inside any of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/core/completion.hpp"
#include "gpu/core/memory_pool.hpp"
#include "gpu/core/timeline.hpp"
#include "gpu/device.hpp"
#include "rt/runtime_options.hpp"

namespace plx::gpu::detail {

class device_core;
class counter_door;

/// A statistic written by one thread at a time and read by any thread.
class tally {
 public:
  void add(std::uint64_t n = 1) noexcept {
    n_.store(n_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return n_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> n_{0};
};

/// Totals of a stream. Written under its put_lock.
struct stream_tallies {
  tally launches, items, graphs, copies, bytes, fills, completions, launch_ticks;
};

/// Totals of the poller.
struct poll_tallies {
  tally polls, questions, reached, ticks;
};

/// Totals of a device.
struct device_counts {
  std::uint64_t launches = 0, items = 0, graphs = 0, copies = 0, bytes = 0, fills = 0, completions = 0;
  std::uint64_t batches = 0, batched_items = 0;
  std::uint64_t polls = 0, questions = 0, reached = 0;
  double launching_s = 0, polling_s = 0;
};

/// Pinned memory that holds the items of a launch.
struct staging {
  void* at = nullptr;
  unsigned size_class = 0;  // 4096 << size_class bytes
};

/// The part of a graph that the backend does not hold. Its items stay in pinned memory as long as it may run.
struct graph_core {
  /// Remembers the stream if items must be freed after the graph's last run there.
  void launched_in(stream_core& s) {
    if (!staged.empty() && std::find(streams.begin(), streams.end(), &s) == streams.end()) streams.push_back(&s);
  }
  std::vector<staging> staged;
  std::vector<staging> before;  // launches made in the stream before the capture
  std::vector<stream_core*> streams;
  const any_operation* last_operation = nullptr;
  std::uint64_t launches = 0, items = 0, copies = 0, bytes = 0, fills = 0;  // of one run
};

class stream_core {
 public:
  stream_core(device_core& d, native_stream s) : home(d), native(s) {}

  device_core& home;
  native_stream native;    // replaced by renew(), under put_lock
  std::size_t number = 0;  // 1, 2, ... among the device's streams

  // --- submission
  plx::detail::spinlock put_lock;
  const any_operation* last_operation = nullptr;
  std::uint32_t flags_written = 0;
  // Written under put_lock and read by any thread. The poller queries the stream only under put_lock, since a query
  // would invalidate a capture.
  std::atomic<bool> capturing{false};
  std::unique_ptr<graph_core> captured;  // while it captures
  outcome stage_failed;
  std::vector<staging> staged;  // of launches that no completion covers yet
  completion* late = nullptr;   // from graphs dropped during a capture, when no completion can be added
  stream_timeline timeline;

  // --- completions
  plx::detail::spinlock queue_lock;
  completion *first = nullptr, *last = nullptr;
  bool listed = false;  // in busy_; guarded by list_lock_
  unsigned looked = 0;  // unsuccessful checks, see reached(); used by the poller only
  std::uint32_t* flag = nullptr;
  stream_tallies tallies;
  std::atomic<std::uint32_t> queued{0};  // length of the queue, a measure of load
};

class device_core {
 public:
  device_core(runtime& rt, const backend& b, int index, device_options o);
  ~device_core();

  stream_core* take_stream();
  void give_stream(stream_core* s) noexcept;

  /// Returns an idle executor stream, or the one with the shortest queue. Cost: inspects each of them.
  stream_core& pick_stream();
  /// Work submitted to `s` from now on begins after all work now in `other`. Errors: also if one of them captures.
  void wait_for(stream_core& s, stream_core& other);
  /// As wait_for(), but returns false and does nothing if one of them captures: it would become part of the graph.
  [[nodiscard]] bool try_wait_for(stream_core& s, stream_core& other);
  /// Waits until all work now in `s` is done, as far as that can be determined. Returns false without waiting if `s`
  /// captures. `held`: a stream whose put_lock the caller holds; another stream's lock is then awaited for at most 1
  /// ms, and false may also mean that it was not acquired.
  [[nodiscard]] bool settle(stream_core& s, const stream_core* held = nullptr) noexcept;

  memory_pool& pool(memory_kind kind) noexcept { return kind == memory_kind::device ? *device_pool_ : *pinned_pool_; }
  /// `held`: see settle().
  void trim_all(const stream_core* held = nullptr);

  // --- submission; the caller holds put_lock. Errors: throw gpu::error.
  void check(stream_core& s);
  static void check_future(const stream_core& s);
  void launch(stream_core& s, const any_operation& op, const void* items, unsigned n, item_errors errors);
  /// The completion is finished once all work now in the stream is done. Returns false if it could not be added: the
  /// caller then finishes it, without the lock. Does not throw.
  [[nodiscard]] bool add(stream_core& s, completion& c, completion_way way) noexcept;
  /// Launches in one of the executor streams. `c` is finished by a task once the launch is done; if its completion
  /// cannot be added to the stream, the caller waits and finishes it. Takes the stream's put_lock. Throws gpu::error if
  /// nothing was launched; `c` then still belongs to the caller.
  void launch_for(completion& c, const any_operation& op, const void* items, unsigned n, item_errors errors,
                  bool batched);
  /// Throws if the result `o` of a backend call is an error.
  void expect(stream_core* s, const outcome& o) {
    if (!o) [[unlikely]]
      fail(s, o);
  }

  /// Calls c.finish(c) soon in a task, or in the device's destructor. For pollers.
  void finish_soon(completion& c);

  static poll_result poll(void* self) { return static_cast<device_core*>(self)->poll(); }
  poll_result poll();

  native_event take_event();
  void give_event(native_event e) noexcept;

  void give_staging(const std::vector<staging>& blocks) noexcept;
  /// Called when a graph is destroyed: its items are freed when the streams that it was launched in have passed it.
  void drop(std::unique_ptr<graph_core> g) noexcept;
  /// Does the same for graphs dropped while `s` captured; the capture has ended. The caller holds put_lock.
  void drop_late(stream_core& s) noexcept;
  /// Allocates from the backend; if memory runs out, trims the pools and retries once. `held`: see settle().
  outcome allocate(memory_kind kind, std::size_t bytes, void*& p, const stream_core* held = nullptr);
  std::uint32_t* take_flag(stream_core& s);  // the caller has its put_lock

  [[nodiscard]] device_counts counts() noexcept;
  /// Counts a launch of several collected items.
  void count_batch(std::uint64_t items) noexcept {
    batches_.fetch_add(1, std::memory_order_relaxed);
    batched_items_.fetch_add(items, std::memory_order_relaxed);
  }

  [[nodiscard]] std::exception_ptr lost();
  void wait_for_all();
  device_timeline& timeline() noexcept { return timeline_; }

  runtime& rt;
  const backend& table;
  const int index;
  const device_options options;
  native_device native = nullptr;
  device_info info;
  std::string label;

 private:
  [[noreturn]] void fail(stream_core* s, const outcome& o);
  error error_of(const any_operation* op, const outcome& o) const;
  void lose(const error& e) noexcept;
  void renew(stream_core& s) noexcept;
  void push(stream_core& s, completion& c);
  outcome put_place(stream_core& s, completion& c);
  outcome put_signal(stream_core& s, completion& c);
  outcome reached(stream_core& s, completion& c, bool& done);
  void drain(stream_core& s);
  poll_result look();
  void retire(stream_core& s, completion& c) noexcept;
  void finish_later(completion* first, completion* last);
  void fail_all();
  bool all_done() noexcept;
  void run_finisher() noexcept;
  void leave() noexcept;
  static const void* stage(const gpu::launch& where, const void* items, std::size_t bytes);
  staging take_staging(stream_core& s, std::size_t bytes);
  void add_staged(stream_core& s) noexcept;
  void add_graph(stream_core& s, completion& c) noexcept;

  plx::detail::spinlock list_lock_;
  std::vector<std::unique_ptr<stream_core>> streams_;
  std::vector<stream_core*> idle_streams_, busy_;
  std::atomic<unsigned> n_spread_{0};      // executor streams; written under list_lock_, release
  std::vector<stream_core*> spread_over_;  // never resized
  std::atomic<unsigned> turn_{0};
  std::unique_ptr<memory_pool> device_pool_, pinned_pool_;

  plx::detail::spinlock events_lock_;
  std::vector<native_event> events_;
  std::vector<native_event> all_events_;
  std::vector<staging> free_staging_, all_staging_;  // guarded by events_lock_

  device_timeline timeline_{*this};
  std::atomic<std::uint64_t> open_{0};
  std::atomic<bool> is_lost_{false};
  plx::detail::spinlock lost_lock_;
  std::exception_ptr lost_;

  const std::shared_ptr<poller_door> pollers_ = std::make_shared<poller_door>(rt);
  std::atomic<bool> reported_unmarked_{false};
  std::shared_ptr<finisher> finisher_ = std::make_shared<finisher>();
  std::uint64_t poller_ = 0;
  std::vector<void*> flag_pages_;  // pinned: a cache line per stream; guarded by list_lock_
  unsigned flags_left_ = 0;        // in the last page

  std::atomic<std::uint64_t> batches_{0}, batched_items_{0};
  std::shared_ptr<counter_door> door_;
  poll_tallies poll_tallies_;  // written by the poller only

  // Used by the poller only.
  std::vector<stream_core*> looking_at_;
  completion *reached_first_ = nullptr, *reached_last_ = nullptr;
  std::vector<callback_note*> unheard_;  // callbacks that may never arrive
  ticks next_look_ = 0;
  ticks waiting_since_ = 0;   // time of the last completion, or of the first submission after idling; 0: idle
  bool finish_here_ = false;  // set while the destructor polls
};

/// The counters of a device in its runtime's registry: /gpu{locality#0/device#0}/... They are registered when counters
/// are first requested from the runtime and live as long as the runtime; the device may be destroyed earlier. The door
/// forwards to the device while it exists, and then returns its final values.
class counter_door {
 public:
  explicit counter_door(device_core& d);
  /// Called when the device is destroyed: keeps its final values.
  void close();
  [[nodiscard]] device_counts counts();
  [[nodiscard]] memory_counts memory(memory_kind kind);
  [[nodiscard]] probe::device_times times();
  [[nodiscard]] int index() const noexcept { return index_; }

 private:
  std::mutex lock_;
  device_core* device_;
  const int index_;
  const std::string name_;  // the device's name in traces
  const probe::device_lanes& lanes_;
  device_counts last_;
  memory_counts last_memory_[2];
};

/// Adds the counters of the device to its runtime.
std::shared_ptr<counter_door> open_counter_door(device_core& d);

}  // namespace plx::gpu::detail
