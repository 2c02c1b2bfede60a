// The parcel port: assembles parcels into messages and sends them. Each parcel is written once, directly into its
// message. plx::coalescing (net/coalescing.hpp) determines when messages are sent, per action or for all.
//
// Self-clocking, the default: a parcel is sent immediately if no message to that locality is in flight and none was
// sent just before; otherwise the message is sent when it is full, or as soon as the scheduler runs its pollers on the
// worker that sent last: before it idles, and every few microseconds between its tasks. Fixed: by number, bytes, a
// scheduler timer for the interval, and, unless it is strict, when that worker is idle. Parcels of an external thread
// are flushed by any worker; a sleeping one is woken for that.
//
// Unsent bytes are bounded per locality: beyond the bound, calling tasks wait until half of them have been sent.
// Calls that have not begun on their receiver are bounded by credits: a call takes them when it is sent, and the
// receiver returns them when its task begins, in one internal parcel per quarter of them. A task whose receiver has no
// credits left for it waits until half of them are back. All calls that have arrived begin, whatever other tasks wait
// for, so all credits come back.
// Replies and direct actions do not wait: the calls received bound the number of replies, and direct actions are not
// queued.
// Thread safety: everything. Cost of a parcel: a lock, a clock read, a few counts, the copy of its bytes; of a message:
// a second clock read, and three atomic additions. Example: net/parcels/test/parcel_port_test.cpp
#pragma once

#include <algorithm>
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

// A histogram of the gaps between consecutive parcels, in buckets of equal width.
//
// Thread safety: everything. Cost: add() is an atomic increment. Example: net/parcels/test/port_counters_test.cpp

/// `buckets` of equal width from `least` to `most` ticks, and one each for values below and above.
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

  arrival_histogram* next = nullptr;  ///< next histogram of the same action

 private:
  const ticks least_;
  const std::size_t n_;
  const double per_tick_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
};

}  // namespace plx::net

namespace plx::probe {
class counter_registry;
class recorder;
class registration;
}  // namespace plx::probe
namespace plx::detail {
class scheduler;
struct worker;
}  // namespace plx::detail

namespace plx::net {

class message_log;

/// A message of one parcel with data too large to be copied; it owns the data and lives until they have been sent.
/// Created by the sender.
struct large_message : outgoing {
  std::vector<std::byte> bytes;  ///< the head: a frame of one parcel
  std::vector<piece> parts;      ///< in memory that the derived class owns
  std::vector<std::byte> whole;  ///< the payload, if it is a piece itself
  port_peer* to = nullptr;
  parcel_port* port = nullptr;
  std::uint64_t size_bytes = 0;
  std::uint64_t counted_bytes = 0;  ///< of these, towards the bound of unsent bytes
  std::uint64_t number = 0;         ///< of its parcel, if messages are traced
  void (*destroy)(large_message*) noexcept = nullptr;
};

/// Totals of a port since it was created.
struct port_counts {
  std::uint64_t parcels_sent = 0, messages_sent = 0, bytes_sent = 0;
  std::uint64_t parcels_received = 0, messages_received = 0, bytes_received = 0;
  std::uint64_t refused = 0;  ///< malformed frames and parcels
  std::uint64_t dropped = 0;  ///< posts to localities that were lost or had ended
};

/// Sent parcels of an action, or of all actions of the program.
struct action_counts {
  std::uint64_t parcels = 0;
  std::uint64_t messages = 0;  ///< with at least one of its parcels
  std::uint64_t gaps = 0;      ///< between consecutive parcels to the same locality
  double gaps_s = 0;           ///< their sum
};

/// Totals of one action's collectors, or of the common ones; gaps are counted only in adaptive mode.
struct collected_counts {
  std::uint64_t parcels = 0, messages = 0, bytes = 0;
  std::size_t most_bytes = 0;  ///< the limit of a message
  gap_counts gaps{};
};

/// A parcel that is being written.
struct open_parcel {
  std::byte* payload = nullptr;
  collector* in = nullptr;
  frame_message* full = nullptr;  ///< had no room for it; sent by close()
  std::size_t bytes = 0;          ///< including its header
  ticks begun = 0;                ///< if it is the first of a message, and measured: when that was begun
  unsigned stands_for = 1;        ///< the number of messages for which this measurement counts
  std::uint64_t number = 0;       ///< if messages are traced
  std::uint16_t action = 0;
};

class parcel_port {
 public:
  /// Requires: `s` and `t` outlive it.
  parcel_port(plx::detail::scheduler& s, transport& t, locality_id here, unsigned localities);
  ~parcel_port();
  parcel_port(const parcel_port&) = delete;
  parcel_port& operator=(const parcel_port&) = delete;

  /// Sets the coalescing of this action (0: of all others). Parcels collected so far are not delayed by it.
  void collect(std::uint16_t action, const coalescing& how);
  [[nodiscard]] coalescing how_collected(std::uint16_t action) const;
  /// In adaptive mode: the parameters until the next steer(), and the totals so far. No effect unless the last
  /// collect() of the action was with `adaptive`.
  void steer(std::uint16_t action, const coalescing& how);
  [[nodiscard]] collected_counts collected(std::uint16_t action) const;

  /// Room for a parcel's payload of h.size bytes, to be filled immediately and close()d by the same thread. A lock is
  /// held: the caller must not wait or call the port in between. `action`: the one the parcel belongs to, also for
  /// replies. Requires: h.size <= max_payload_bytes(); for calls: wait_for_room().
  open_parcel open(locality_id to, std::uint16_t action, const parcel_header& h);
  void close(const open_parcel& p) noexcept;
  /// The maximum payload in a message head.
  [[nodiscard]] std::size_t max_payload_bytes() const noexcept;
  /// Sends a message of its own and takes ownership of it. Its head is complete; its `parts` become its pieces.
  void send(locality_id to, std::uint16_t action, large_message& m) noexcept;
  /// The number for a message passed to send(); 0 if none is needed.
  [[nodiscard]] std::uint64_t next_number() noexcept;
  /// The log of sent and received parcels, filled while it is on.
  [[nodiscard]] message_log& messages() noexcept { return *messages_; }
  [[nodiscard]] std::weak_ptr<message_log> shared_messages() const noexcept { return messages_; }
  /// Blocks the calling task while too many bytes to this locality are unsent or, if the parcel is `queued` there, too
  /// many calls have not begun. Does not block in a poller.
  void wait_for_room(locality_id to, bool queued = false);

  /// The credits of a call with `bytes` of payload and pieces: at most half of all, so that two of any size may be
  /// queued.
  [[nodiscard]] std::uint64_t credits_for(std::uint64_t bytes) const noexcept {
    return std::min(1 + bytes / bytes_per_credit, std::max<std::uint64_t>(credits() / 2, 1));
  }
  void take_credits(locality_id to, std::uint64_t n) noexcept;
  /// The receiver has returned `returned` credits in all. False: more than were taken.
  bool return_credits(locality_id from, std::uint64_t returned) noexcept;
  /// Credits taken and not returned.
  [[nodiscard]] std::uint64_t credits_out(locality_id to) const noexcept;
  /// The number of credits per receiver: by default 16384, fewer in jobs of more than 64 localities. The same on all
  /// localities of a job.
  void bound_queued(std::uint32_t credits) noexcept { credits_.store(credits, std::memory_order_relaxed); }
  /// A receiver reports begun calls when they took this many credits.
  [[nodiscard]] std::uint64_t credits_per_report() const noexcept { return std::max<std::uint64_t>(credits() / 4, 1); }
  [[nodiscard]] std::uint64_t credits() const noexcept { return credits_.load(std::memory_order_relaxed); }

  /// The maximum number of unsent bytes to one locality; 64 MiB by default. Two large messages of any size may be in
  /// flight, so that the next one is announced while one is being fetched.
  void bound_unsent(std::uint64_t bytes) noexcept { most_unsent_.store(bytes, std::memory_order_relaxed); }

  /// Called by the poller: sends messages that need not wait any longer. True if any was sent. `waited`: the part of
  /// the time for which the idle worker waited for the end of an interval.
  bool flush(ticks& waited) noexcept;
  /// Called by the poller if flush() sent nothing and nothing arrived: if this worker is idle, sends messages that wait
  /// for an interval although the worker that sent the last parcel is idle. True if any was sent.
  bool flush_idle() noexcept;
  /// Sends all collected parcels.
  void flush_all() noexcept;
  /// Whether messages wait for the next flush().
  [[nodiscard]] bool pending() const noexcept {
    return any_ready_.load(std::memory_order_relaxed) || alarm_rang_.load(std::memory_order_relaxed) ||
           any_impatient_.load(std::memory_order_relaxed);
  }
  /// From now on each parcel is sent immediately. Called while the scheduler still exists.
  void end() noexcept;

  /// Stops sending to this locality.
  void close_peer(locality_id which) noexcept;
  [[nodiscard]] bool closed(locality_id which) const noexcept;

  [[nodiscard]] port_counts counts() const;
  [[nodiscard]] near_counts near() const noexcept { return transport_.near(); }
  /// The counts of one action; 0: of all except internal ones.
  [[nodiscard]] action_counts counts_of(std::uint16_t action) const;
  /// Bytes that the transport has not sent yet.
  [[nodiscard]] std::uint64_t under_way_bytes() const noexcept;
  /// Starts a histogram of the gaps between consecutive parcels of this action (0: of all actions of the program) to
  /// the same locality, or returns the one with the same bounds. It lives as long as the port.
  const arrival_histogram& watch_arrivals(std::uint16_t action, double least_s, double most_s, unsigned buckets);
  /// Time of polls in which something happened, without waiting times, and of timers.
  [[nodiscard]] double polling_s() const noexcept { return seconds(polling_.load(std::memory_order_relaxed)); }
  /// Time that tasks spend on messages: allocation up to the first parcel; handover to the transport; timers.
  [[nodiscard]] double sending_s() const noexcept {
    return seconds(preparing_.load(std::memory_order_relaxed)) + handing_s();
  }
  /// The part of sending_s() spent in handover, and the number of handovers.
  [[nodiscard]] double handing_s() const noexcept { return seconds(handing_.load(std::memory_order_relaxed)); }
  [[nodiscard]] std::uint64_t sendings() const noexcept { return sendings_.load(std::memory_order_relaxed); }
  void note_polled(ticks span) noexcept { polling_.fetch_add(span, std::memory_order_relaxed); }
  /// Counts received parcels; called by the poller.
  void note_received(std::uint64_t parcels, std::uint64_t bytes) noexcept;
  void note_refused() noexcept;
  void note_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct action_collectors;
  struct watched_arrivals;

  action_collectors& new_collectors(std::uint16_t action);
  collector& collector_of(port_peer& p, std::uint16_t action) const noexcept;
  void set(collector& c, const coalescing& how);
  static void note_gaps(collector& c, const coalescing& how);
  template <class F>
  void each_collector(F f) const;

  void prepare(collector& c, std::size_t parcel_bytes, open_parcel& p);
  void prepare_tallies(collector& c) const;
  void count(collector& c, std::uint16_t action, bool alone, ticks now) noexcept;
  void note_arrival(collector& c, std::uint16_t action, ticks now) const noexcept;
  [[nodiscard]] bool goes(const collector& c, std::size_t parcel_bytes, ticks gap, ticks now) const noexcept;
  [[nodiscard]] bool has_room(const port_peer& p, bool queued, std::memory_order order) const noexcept;
  static frame_message* take(collector& c) noexcept;
  ticks leave(frame_message* m, ticks begin) noexcept;
  ticks hand_over(locality_id to, outgoing& m, ticks begin) noexcept;
  void note_prepared(ticks span) noexcept;
  [[nodiscard]] const plx::detail::worker* own_worker() const noexcept;  // the caller; null: an external thread
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
  static constexpr std::uint64_t bytes_per_credit = 16384;
  std::atomic<std::uint64_t> most_unsent_{std::uint64_t{1} << 26};
  std::atomic<std::uint32_t> credits_;  // of each peer
  message_store store_;
  std::vector<std::unique_ptr<port_peer>> peers_;
  // Collectors of single actions, by action; null for actions in the common collectors. Never removed.
  std::vector<std::atomic<action_collectors*>> of_action_;
  mutable plx::detail::spinlock settings_lock_;
  std::vector<std::unique_ptr<action_collectors>> owned_;  // guarded by settings_lock_
  action_collectors* control_ = nullptr;                   // internal actions of net
  coalescing all_ = self_clocking;                         // guarded by settings_lock_

  // Invariant: a nonempty collector is in `ready_` (self-clocking) or `timed_` (fixed), or the thread that added its
  // first parcel is about to put it there, or the flush that removed it is processing it. Empty ones may be there, too.
  plx::detail::spinlock list_lock_;
  std::vector<collector*> ready_, timed_;
  std::atomic<bool> any_ready_{false};
  std::atomic<bool> any_impatient_{false};  // some in `timed_` may be sent when their worker idles
  plx::detail::spinlock flush_lock_;
  std::vector<collector*> looked_at_;  // guarded by flush_lock_

  plx::detail::spinlock alarm_lock_;
  plx::detail::timer alarm_;
  std::atomic<ticks> alarm_at_{plx::detail::timer_queue::never};  // when it fires; increased under alarm_lock_ only
  std::atomic<bool> alarm_rang_{false};
  std::atomic<bool> ended_{false};

  std::atomic<bool> watches_arrivals_{false};
  std::unique_ptr<watched_arrivals> watched_;  // created with the port
  const std::shared_ptr<message_log> messages_;

  std::atomic<ticks> polling_{0}, preparing_{0}, handing_{0};
  std::atomic<std::uint64_t> sendings_{0};
  std::atomic<std::uint64_t> parcels_received_{0}, messages_received_{0}, bytes_received_{0}, refused_{0}, dropped_{0};
};

// The counters of a port: traffic, coalescing, and the time that workers spend on the network.
//
//   /parcels/count/{sent,received}  /messages/count/{sent,received,refused}  /data/{sent,received,under-way}
//   /coalescing/count/{parcels,messages,average-parcels-per-message}    of all actions; with @ACTION of one
//   /coalescing/time/average-parcel-arrival                             the same
//   /coalescing/time/parcel-arrival-histogram@ACTION,MIN,MAX,BUCKETS    MIN and MAX in us; without ACTION: all actions
//   /network/time/{polling,sending}  /network/overhead

/// Registers the counters; they cost nothing until they are queried, and a histogram then costs each parcel of its
/// action an atomic increment. Requires: port and recorder live as long as the registrations.
std::vector<probe::registration> add_port_counters(probe::counter_registry& r, parcel_port& port,
                                                   const probe::recorder& workers);

}  // namespace plx::net
