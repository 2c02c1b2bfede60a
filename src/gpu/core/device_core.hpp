// The inside of a device: streams, their queues of completions, and the poll.
//
// Invariants: a record is in exactly one of: its stream's queue, the finisher, nobody's hands. `open_` counts records
// in queues; a stream with records is in `busy_`. A record is put in the queue in the order in which its place was put
// in the stream, because both happen under the stream's `put_lock`. After `lost_` is set no record is added to a queue.
// Locks, outer first: put_lock of a stream, list_lock_, queue_lock of a stream; events_lock_ inside any.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
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

/// A number that one thread at a time writes and anyone reads.
class tally {
 public:
  void add(std::uint64_t n = 1) noexcept {
    n_.store(n_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return n_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> n_{0};
};

/// What has been put in a stream. Written under its put_lock.
struct stream_tallies {
  tally launches, items, graphs, copies, bytes, fills, completions, launch_ticks;
};

/// What the poller has done.
struct poll_tallies {
  tally polls, questions, reached, ticks;
};

/// What a device has done so far, summed.
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

/// What a captured chain has beside the graph of the backend. Its items lie in pinned memory as long as it may run.
struct graph_core {
  /// Remembered where there are items to be given back behind it.
  void launched_in(stream_core& s) {
    if (!staged.empty() && std::find(streams.begin(), streams.end(), &s) == streams.end()) streams.push_back(&s);
  }
  std::vector<staging> staged;
  std::vector<staging> before;  // of launches that the stream made before it captured
  std::vector<stream_core*> streams;
  const any_operation* last_operation = nullptr;
  std::uint64_t launches = 0, items = 0, copies = 0, bytes = 0, fills = 0;  // of one run
};

class stream_core {
 public:
  stream_core(device_core& d, native_stream s) : home(d), native(s) {}

  device_core& home;
  native_stream native;    // another one after renew(), under put_lock
  std::size_t number = 0;  // of the device's streams, from 1 on

  // --- who puts something in
  plx::detail::spinlock put_lock;
  const any_operation* last_operation = nullptr;
  std::uint32_t flags_written = 0;
  // Written under put_lock; others may look, and the poller may ask the stream itself only under put_lock.
  std::atomic<bool> capturing{false};
  std::unique_ptr<graph_core> captured;  // while it captures
  outcome stage_failed;
  std::vector<staging> staged;  // of launches that no record stands behind yet
  completion* late = nullptr;   // of graphs that were dropped while it captured, when no record can be put in
  stream_timeline timeline;

  // --- records
  plx::detail::spinlock queue_lock;
  completion *first = nullptr, *last = nullptr;
  bool listed = false;  // in busy_; guarded by list_lock_
  unsigned looked = 0;  // in vain, for who asks whether the stream has failed; the poller's
  std::uint32_t* flag = nullptr;
  stream_tallies tallies;
  std::atomic<std::uint32_t> queued{0};  // records in the queue: how busy it is
};

class device_core {
 public:
  device_core(runtime& rt, const backend& b, int index, device_options o);
  ~device_core();

  // --- streams
  stream_core* take_stream();
  void give_stream(stream_core* s) noexcept;

  /// One of the streams that work is spread over: one without work, or the one with the least. Cost: a look at each.
  stream_core& pick_stream();
  /// What is put in `s` from now on begins after all that is in `other` now. Errors: also when one of them captures.
  void wait_for(stream_core& s, stream_core& other);
  /// The same; false, and nothing is done, when one of them captures: across it, one would become part of the graph.
  [[nodiscard]] bool try_wait_for(stream_core& s, stream_core& other);
  /// Waits until all that is in `s` now is done, as far as that can be known. False, without a wait, when it captures.
  /// `held`: the caller has its put_lock; another stream's is then waited for 1 ms at most, and false may mean that.
  [[nodiscard]] bool settle(stream_core& s, const stream_core* held = nullptr) noexcept;

  memory_pool& pool(memory_kind kind) noexcept { return kind == memory_kind::device ? *device_pool_ : *pinned_pool_; }
  /// `held`: the caller has its put_lock.
  void trim_all(const stream_core* held = nullptr);

  // --- what goes into a stream; the caller holds put_lock. Throw gpu::error.
  void check(stream_core& s);
  static void check_future(const stream_core& s);
  void launch(stream_core& s, const any_operation& op, const void* items, unsigned n, item_errors errors);
  /// The record is finished once all that is in the stream now is done. False when that fails here: the caller finishes
  /// it, without the lock. Does not throw.
  [[nodiscard]] bool add(stream_core& s, completion& c, completion_way way) noexcept;
  /// Launches in one of the streams that work is spread over and has `c` finished when that is done: by a task, or by
  /// the caller when the end cannot be marked in the stream; then it is waited for. Takes the stream's put_lock. Throws
  /// gpu::error when nothing was launched; `c` is still the caller's then.
  void launch_for(completion& c, const any_operation& op, const void* items, unsigned n, item_errors errors,
                  bool batched);
  /// A call of the backend has given `o`: throws when that is an error.
  void expect(stream_core* s, const outcome& o) {
    if (!o) [[unlikely]]
      fail(s, o);
  }

  /// Has c.finish(c) called by a task soon, or by the device's destructor: for who polls.
  void finish_soon(completion& c);

  // --- the poll
  static poll_result poll(void* self) { return static_cast<device_core*>(self)->poll(); }
  poll_result poll();

  native_event take_event();
  void give_event(native_event e) noexcept;

  void give_staging(const std::vector<staging>& blocks) noexcept;
  /// Of a graph that is gone: its items are given back when the streams where it was launched have come so far.
  void drop(std::unique_ptr<graph_core> g) noexcept;
  /// The same for what was dropped while `s` captured, which is over. The caller holds put_lock.
  void drop_late(stream_core& s) noexcept;
  /// Of the backend; where there is no memory, that of the pools is given back first and it is tried once more. `held`:
  /// the caller has its put_lock.
  outcome allocate(memory_kind kind, std::size_t bytes, void*& p, const stream_core* held = nullptr);
  std::uint32_t* take_flag(stream_core& s);  // the caller has its put_lock

  [[nodiscard]] device_counts counts() noexcept;
  /// A launch of several items that were collected.
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
  std::atomic<unsigned> n_spread_{0};      // streams of pick_stream(): written under list_lock_, release
  std::vector<stream_core*> spread_over_;  // of fixed size
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
  std::string lost_text_;

  const std::shared_ptr<poller_door> pollers_ = std::make_shared<poller_door>(rt);
  std::atomic<bool> said_unmarked_{false};
  std::shared_ptr<finisher> finisher_ = std::make_shared<finisher>();
  std::uint64_t poller_ = 0;
  std::vector<void*> flag_pages_;  // pinned: a cache line per stream; guarded by list_lock_
  unsigned flags_left_ = 0;        // of the last page

  std::atomic<std::uint64_t> batches_{0}, batched_items_{0};
  std::shared_ptr<counter_door> door_;
  poll_tallies poll_tallies_;  // the poller's

  // The poller's own.
  std::vector<stream_core*> looking_at_;
  completion *reached_first_ = nullptr, *reached_last_ = nullptr;
  std::vector<callback_note*> unheard_;  // of callbacks that may never come
  ticks next_look_ = 0;
  ticks waiting_since_ = 0;   // something was reached last, or put in when there was nothing; 0: there is nothing
  bool finish_here_ = false;  // the destructor polls
};

}  // namespace plx::gpu::detail
