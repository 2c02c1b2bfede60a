// Where parcels become messages: each is written once, straight into the message that leaves. What makes a message
// leave is said by plx::coalescing (net/coalescing.hpp), for each action or for all.
//
// Self-clocking, the way that is so from the start: a parcel goes at once when nothing is under way to that locality
// and none was sent there just before; else the message leaves when it is full, or as soon as the scheduler looks at
// its pollers on the worker that sent last: before it idles, and every few microseconds between its tasks. Fixed: by
// number, bytes, a timer of the scheduler for the interval, and, unless it is strict, when that worker has nothing else
// to do. What a foreign thread sends, any worker looks at; a sleeping one gets up for it.
//
// Bytes that have not left are bounded per locality: beyond that, tasks that call wait until half of them have. Answers
// do not wait: they are as many as the calls that came.
// Thread safety: everything. Cost of a parcel: a lock, a look at the clock, a few counts, the copy of its bytes; of a
// message: a second look at the clock, and three atomic additions. Example: net/parcels/test/parcel_port_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "net/coalescing.hpp"
#include "net/core/action_entry.hpp"
#include "net/parcels/collector.hpp"
#include "net/parcels/frame.hpp"
#include "net/transport/transport.hpp"

namespace plx::net {

// How long after the one before parcels come, counted in buckets of equal width.
//
// Thread safety: everything. Cost: add() is an atomic increment. Example: net/parcels/test/port_counters_test.cpp

/// From `least` to `most` ticks in `buckets` of equal width; below and above as well.
class arrival_histogram {
 public:
  /// Requires: least < most; at least one bucket.
  arrival_histogram(ticks least, ticks most, std::size_t buckets)
      : least_(least),
        n_(buckets),
        per_tick_(static_cast<double>(buckets) / static_cast<double>(most - least)),
        counts_(std::make_unique<std::atomic<std::uint64_t>[]>(buckets + 2)) {}

  void add(ticks gap) noexcept {
    std::size_t i = 0;
    if (gap >= least_) i = 1 + static_cast<std::size_t>(static_cast<double>(gap - least_) * per_tick_);
    counts_[i < n_ + 1 ? i : n_ + 1].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t buckets() const noexcept { return n_; }
  /// 0: below the first bucket; 1 to buckets(); buckets() + 1: above the last.
  [[nodiscard]] std::uint64_t count(std::size_t i) const noexcept { return counts_[i].load(std::memory_order_relaxed); }

  arrival_histogram* next = nullptr;  ///< of the same action

 private:
  const ticks least_;
  const std::size_t n_;
  const double per_tick_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
};

}  // namespace plx::net

namespace plx::detail {
class scheduler;
struct worker;
}  // namespace plx::detail

namespace plx::net {

class message_log;

/// A message of one parcel with its data, which lives until it was sent: what is too large to be copied. Made by who
/// sends it.
struct large_message : outgoing {
  std::vector<std::byte> bytes;  ///< the head: a frame of one parcel
  std::vector<piece> parts;      ///< name memory that this object, of a derived class, owns
  std::vector<std::byte> whole;  ///< the payload, where it is a piece itself
  port_peer* to = nullptr;
  parcel_port* port = nullptr;
  std::uint64_t size_bytes = 0;
  std::uint64_t counted_bytes = 0;  ///< of them, towards the bound of what is under way
  std::uint64_t number = 0;         ///< of its parcel, while messages are traced
  void (*destroy)(large_message*) noexcept = nullptr;
};

/// What went through a port since it was made.
struct port_counts {
  std::uint64_t parcels_sent = 0, messages_sent = 0, bytes_sent = 0;
  std::uint64_t parcels_received = 0, messages_received = 0, bytes_received = 0;
  std::uint64_t refused = 0;  ///< frames and parcels that were malformed
};

/// What went out of the parcels of an action, or of all of the program's.
struct action_counts {
  std::uint64_t parcels = 0;
  std::uint64_t messages = 0;  ///< with one of its parcels at least
  std::uint64_t gaps = 0;      ///< between two parcels to the same locality, one after the other
  double gaps_s = 0;           ///< their sum
};

/// What one action's collectors, or those of all others, took in and gave away; gaps only while they are adaptive.
struct collected_counts {
  std::uint64_t parcels = 0, messages = 0, bytes = 0;
  std::size_t most_bytes = 0;  ///< the limit of a message
  gap_counts gaps{};
};

/// A parcel that is being written.
struct open_parcel {
  std::byte* payload = nullptr;
  collector* in = nullptr;
  frame_message* full = nullptr;  ///< had no room for it, and leaves when it is closed
  std::size_t bytes = 0;          ///< with its header
  ticks begun = 0;                ///< the first one of a message: when that was begun
  std::uint64_t number = 0;       ///< while messages are traced
  std::uint16_t action = 0;
};

class parcel_port {
 public:
  /// Requires: `s` and `t` outlive it.
  parcel_port(plx::detail::scheduler& s, transport& t, locality_id here, unsigned localities);
  ~parcel_port();
  parcel_port(const parcel_port&) = delete;
  parcel_port& operator=(const parcel_port&) = delete;

  /// How parcels of this action (0: of all others) collect from now on. What has collected stays, at most as long as it
  /// would have.
  void collect(std::uint16_t action, const coalescing& how);
  [[nodiscard]] coalescing how_collected(std::uint16_t action) const;
  /// Of parcels that collect adaptively: how they do until the next steer(), and what has come of them so far.
  /// Requires: collect(action, adaptive) was said, and nothing else after it, or nothing happens.
  void steer(std::uint16_t action, const coalescing& how);
  [[nodiscard]] collected_counts collected(std::uint16_t action) const;

  /// Room for a parcel's payload of h.size bytes, to be filled at once and close()d by the same thread. Under a lock:
  /// the caller must not wait, nor call the port, in between. `action`: which it belongs to, of answers too. Requires:
  /// h.size <= max_payload_bytes(); of calls: wait_for_room().
  open_parcel open(locality_id to, std::uint16_t action, const parcel_header& h);
  void close(const open_parcel& p) noexcept;
  /// The longest payload that travels in a head.
  [[nodiscard]] std::size_t max_payload_bytes() const noexcept;
  /// Sends a message of its own; takes it over. Its head is complete, its `pieces` are its parts.
  void send(locality_id to, std::uint16_t action, large_message& m) noexcept;
  /// The number for a message that send() will get; 0: it needs none.
  [[nodiscard]] std::uint64_t next_number() noexcept;
  /// What is sent, and what came, while it is on.
  [[nodiscard]] message_log& messages() noexcept { return *messages_; }
  /// Waits, as a task, while too many bytes to this locality have not left. Nothing waits in a poller.
  void wait_for_room(locality_id to);

  /// How many bytes to one locality may be under way; 64 MiB at the start. However long they are, two large messages
  /// may: so the next one is announced while one is being fetched.
  void bound_unsent(std::uint64_t bytes) noexcept { most_unsent_.store(bytes, std::memory_order_relaxed); }

  /// By the poller: sends what need not wait any longer. True when something left. `waited`: how long of it the worker,
  /// who had nothing else to do, waited for the end of an interval.
  bool flush(ticks& waited) noexcept;
  /// By the poller, when flush() sent nothing and nothing has come: sends what waits for an interval although who sent
  /// it has nothing else to do, if this worker has not either. True when something left.
  bool flush_idle() noexcept;
  /// Sends all that has collected.
  void flush_all() noexcept;
  /// Something waits for the next flush().
  [[nodiscard]] bool pending() const noexcept {
    return any_ready_.load(std::memory_order_relaxed) || alarm_rang_.load(std::memory_order_relaxed) ||
           any_impatient_.load(std::memory_order_relaxed);
  }
  /// From here on each parcel goes at once. The scheduler is still there.
  void end() noexcept;

  /// To this locality nothing leaves any more.
  void close_peer(locality_id which) noexcept;
  [[nodiscard]] bool closed(locality_id which) const noexcept;

  [[nodiscard]] port_counts counts() const;
  /// Of one action; 0: of all but net's own.
  [[nodiscard]] action_counts counts_of(std::uint16_t action) const;
  /// Bytes that the transport has not sent yet.
  [[nodiscard]] std::uint64_t under_way_bytes() const noexcept;
  /// Counts from now on how long after each other parcels of this action come (0: all of the program's), to the same
  /// locality. Gives the one of the same bounds if there is one. It lives as long as the port.
  const arrival_histogram& watch_arrivals(std::uint16_t action, double least_s, double most_s, unsigned buckets);
  /// Time of pollers in which something happened, without what they waited, and of alarms.
  [[nodiscard]] double polling_s() const noexcept { return seconds(polling_.load(std::memory_order_relaxed)); }
  /// Time that messages took of tasks: memory for them, up to their first parcel; handing them over; their alarms.
  [[nodiscard]] double sending_s() const noexcept {
    return seconds(preparing_.load(std::memory_order_relaxed)) + handing_s();
  }
  /// Of that, what it took to hand messages over, and how many these were.
  [[nodiscard]] double handing_s() const noexcept { return seconds(handing_.load(std::memory_order_relaxed)); }
  [[nodiscard]] std::uint64_t sendings() const noexcept { return sendings_.load(std::memory_order_relaxed); }
  void note_polled(ticks span) noexcept { polling_.fetch_add(span, std::memory_order_relaxed); }
  /// Counts what has come in; by the poller.
  void note_received(std::uint64_t parcels, std::uint64_t bytes) noexcept;
  void note_refused() noexcept;

 private:
  struct action_collectors;
  struct watched_arrivals;

  action_collectors& new_collectors(std::uint16_t action);
  collector& collector_of(port_peer& p, std::uint16_t action) const noexcept;
  void set(collector& c, const coalescing& how);
  static void note_gaps(collector& c, const coalescing& how);
  template <class F>
  void each_collector(F f) const;

  void prepare(collector& c, std::size_t parcel_bytes);
  void prepare_tallies(collector& c) const;
  void count(collector& c, std::uint16_t action, bool alone, ticks now) noexcept;
  void note_arrival(collector& c, std::uint16_t action, ticks now) const noexcept;
  [[nodiscard]] bool goes(const collector& c, std::size_t parcel_bytes, ticks gap, ticks now) const noexcept;
  static frame_message* take(collector& c) noexcept;
  ticks leave(frame_message* m, ticks begin) noexcept;
  ticks hand_over(locality_id to, outgoing& m, ticks begin) noexcept;
  void note_prepared(ticks span) noexcept;
  [[nodiscard]] const plx::detail::worker* own_worker() const noexcept;  // the caller; null: a foreign thread
  void rouse(bool waits) noexcept;
  static void sent(outgoing* o, bool ok) noexcept;
  static void large_sent(outgoing* o, bool ok) noexcept;

  void put_into(std::vector<collector*>& list, collector& c) noexcept;
  template <class F>
  bool look_at(std::vector<collector*>& list, F f) noexcept;
  bool flush_ready(bool all) noexcept;
  bool flush_timed(bool all) noexcept;
  [[nodiscard]] bool need_not_collect(const collector& c, ticks now) const noexcept;
  [[nodiscard]] bool need_not_wait(const collector& c, ticks now) const noexcept;
  void set_alarm(ticks due) noexcept;
  static void ring(void* self) noexcept;

  plx::detail::scheduler& scheduler_;
  transport& transport_;
  const locality_id here_;
  const std::size_t max_head_bytes_;
  const ticks lone_after_, quiet_after_, old_after_;  // see parcel_flush.cpp
  std::atomic<std::uint64_t> most_unsent_{std::uint64_t{1} << 26};
  message_store store_;
  std::vector<std::unique_ptr<port_peer>> peers_;
  // Collectors of single actions, by action; null where an action collects with all others. Once there, they stay.
  std::vector<std::atomic<action_collectors*>> of_action_;
  mutable plx::detail::spinlock settings_lock_;
  std::vector<std::unique_ptr<action_collectors>> owned_;  // guarded by settings_lock_
  action_collectors* control_ = nullptr;                   // net's own ones
  coalescing all_ = self_clocking;                         // guarded by settings_lock_

  // Invariant: a collector that holds something stands in `ready_` (self-clocking) or `timed_` (fixed), or whoever put
  // the first parcel into it is about to put it there, or the flush that took it out is looking at it. One that holds
  // nothing may stand there too.
  plx::detail::spinlock list_lock_;
  std::vector<collector*> ready_, timed_;
  std::atomic<bool> any_ready_{false};
  std::atomic<bool> any_impatient_{false};  // some in `timed_` may leave when their worker idles
  plx::detail::spinlock flush_lock_;
  std::vector<collector*> looked_at_;  // guarded by flush_lock_

  plx::detail::spinlock alarm_lock_;
  plx::detail::timer alarm_;
  std::atomic<ticks> alarm_at_{plx::detail::timer_queue::never};  // when it fires; later: set under alarm_lock_
  std::atomic<bool> alarm_rang_{false};
  std::atomic<bool> ended_{false};

  std::atomic<bool> watches_arrivals_{false};
  std::unique_ptr<watched_arrivals> watched_;  // made with the port
  const std::unique_ptr<message_log> messages_;

  std::atomic<ticks> polling_{0}, preparing_{0}, handing_{0};
  std::atomic<std::uint64_t> sendings_{0};
  std::atomic<std::uint64_t> parcels_received_{0}, messages_received_{0}, bytes_received_{0}, refused_{0};
};

}  // namespace plx::net
