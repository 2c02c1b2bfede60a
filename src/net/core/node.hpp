// This locality's end of the network: its transport, its parcels, its pending replies, and the services built on
// those. One runtime is one locality; the node is attached to it.
//
// Programs use net/job.hpp, net/action.hpp and net/locality.hpp; this header is for code that is built on actions.
// Thread safety: everything. Cost: node_here() is a few loads. Example: net/core/test/action_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "net/core/action_entry.hpp"
#include "net/core/wire.hpp"
#include "net/locality.hpp"
#include "net/parcels/parcel_port.hpp"
#include "net/transport/transport.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/runtime.hpp"

namespace plx::net {

/// The receiver of one reply. One caller takes it out of the table, then calls read() and complete(), or fail(), or
/// read(), lose() and let_go(); the last of these calls destroys it.
class reply_target {
 public:
  /// Reads the result; false if it does not have the expected type. Its pieces may arrive later.
  virtual bool read(wire_reader& r) noexcept = 0;
  virtual void complete() noexcept = 0;
  /// Fails the waiting call. The memory for pieces named by read() stays valid until let_go().
  virtual void lose(std::exception_ptr e) noexcept = 0;
  virtual void let_go() noexcept = 0;
  void fail(std::exception_ptr e) noexcept {
    lose(std::move(e));
    let_go();
  }

  locality_id replier = no_locality;  ///< the locality that replies
  /// A call of an object: the locality that has the object replies, and that may be any.
  bool by_any = false;
  std::uint32_t hops = 0;  ///< how often the call was forwarded before it reached `replier`

 protected:
  ~reply_target() = default;
};

/// The pending replies of this locality. A reply names its slot by a number that is used once: a duplicate, a late
/// reply, or one from a locality that was not called matches no slot. Thread safety: everything.
class reply_table {
 public:
  /// Returns the number under which `t` is found; never 0.
  std::uint64_t add(reply_target& t, locality_id replier);
  /// Removes and returns the entry; null if no entry has that number, or if another locality was called.
  reply_target* take(std::uint64_t id, locality_id from) noexcept;
  /// The call of an object is forwarded to `to`, for the time number `hops`: if that locality is lost before reached()
  /// is called, or if the one that it was forwarded from is lost before, it fails.
  void forwarded(std::uint64_t id, std::uint32_t hops, locality_id to);
  /// The call has reached `at`, forwarded `hops` times, and no longer depends on those that forwarded it.
  void reached(std::uint64_t id, std::uint32_t hops, locality_id at) noexcept;
  /// Removes and returns all entries that wait for this locality.
  std::vector<reply_target*> take_all(locality_id replier);
  /// The number of entries.
  [[nodiscard]] std::size_t size() const noexcept;
  /// For how long there was at least one entry, in ticks. Never less than before.
  [[nodiscard]] plx::ticks time_waited() const noexcept;

 private:
  struct slot {
    reply_target* target = nullptr;
    std::uint32_t turn = 1;  // number of uses: the upper half of the entry's number
    std::uint32_t next_free = 0;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  reply_target* release(std::uint32_t index) noexcept;
  [[nodiscard]] reply_target* find(std::uint64_t id) const noexcept;

  struct forward {
    std::uint64_t id = 0;
    std::uint32_t hops = 0;
    locality_id to = no_locality;
  };

  mutable plx::detail::spinlock lock_;
  std::vector<slot> slots_;
  std::vector<forward> forwards_;  // of calls that have not reached that locality, as far as is known
  std::uint32_t first_free_ = none;
  std::size_t used_ = 0;
  plx::ticks waits_since_ = 0, waited_ = 0;  // the first: while used_ != 0
  mutable plx::ticks read_ = 0;              // the last result of time_waited()
};

/// A component of a node: created at its first use, destroyed with the node. It reaches its counterparts on other
/// localities by actions.
class service {
 public:
  virtual ~service() = default;
  /// Called in a task, once per lost peer, after that peer's unanswered calls have failed. A service that is created
  /// after a loss is notified of it as well.
  virtual void peer_lost(locality_id) {}
};

class waker;
struct loss_cause;

namespace detail {
unsigned next_service_slot() noexcept;
template <class S>
inline const unsigned service_slot = next_service_slot();
}  // namespace detail

class node final : private receiver {
 public:
  /// Requires: nothing else is attached to `rt`, which ends after stop() and before the node does: its last tasks may
  /// still use the network, and find all other localities lost.
  /// The last `spares` of the localities are spares (net/group/membership.hpp).
  node(runtime& rt, std::unique_ptr<transport> t, locality_id here, unsigned localities, unsigned spares = 0);
  ~node() override;
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  [[nodiscard]] locality_id here() const noexcept { return here_; }
  [[nodiscard]] unsigned size() const noexcept { return size_; }  ///< localities of the job, including lost ones
  /// The localities that are members from the start: those with lower numbers. The others are spares.
  [[nodiscard]] unsigned first_spare() const noexcept { return first_spare_; }
  [[nodiscard]] runtime& home() const noexcept { return runtime_; }
  [[nodiscard]] parcel_port& port() noexcept { return port_; }
  [[nodiscard]] reply_table& replies() noexcept { return replies_; }
  [[nodiscard]] transport& carrier() noexcept { return *transport_; }

  /// The service S of this node. S has a constructor from node&.
  template <class S>
  S& get() {
    const unsigned slot = detail::service_slot<S>;
    PLX_ASSERT(slot < most_services && "more types of services than node::most_services: raise it");
    std::atomic<service*>& place = services_[slot];
    // acquire: pairs with the release in make().
    if (service* s = place.load(std::memory_order_acquire)) return static_cast<S&>(*s);
    return static_cast<S&>(make(place, [](node& n) -> std::unique_ptr<service> { return std::make_unique<S>(n); }));
  }

  /// True once the loss of `peer` has been reported.
  [[nodiscard]] bool is_lost(locality_id peer) const noexcept { return peer != here_ && port_.closed(peer); }
  /// The number of losses that have been reported. Counted before is_lost() becomes true.
  [[nodiscard]] unsigned losses() const noexcept { return losses_.load(std::memory_order_seq_cst); }
  /// The reason; "" while `peer` is not lost.
  [[nodiscard]] std::string why_lost(locality_id peer) const;
  /// The same with the first loss; `first` is no_locality while `peer` is not lost.
  [[nodiscard]] loss_cause cause_of_loss(locality_id peer) const;
  /// The exception of futures that wait for a lost peer.
  [[nodiscard]] std::exception_ptr loss_of(locality_id peer) const;
  /// Treats a peer as lost, as if the transport had reported it: nothing more is sent to it, and calls that wait for it
  /// fail with `why`. From any thread.
  void give_up(locality_id peer, std::string_view why) noexcept;
  /// The same, if `peer` may have failed because of another loss.
  void give_up(locality_id peer, const loss_cause& why) noexcept;
  /// Later losses of peers are expected and not reported: the job ends.
  void expect_leaving() noexcept { leaving_.store(true, std::memory_order_relaxed); }
  /// Sends a raw message, which counts like a parcel: transport::send_raw().
  bool send_raw(locality_id to, std::span<const std::byte> first, std::span<const std::byte> rest) noexcept {
    // Counted before it can be received: the job may end once as many are done as were sent.
    note_sent(to);
    if (transport_->send_raw(to, first, rest)) return true;
    traffic_[to].sent.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  /// A raw message has been handled, which this locality has received by transport::receive_awaited().
  void note_raw_done(locality_id from) noexcept { note_started(from), note_done(from); }
  /// Counts and logs a message from `from` that was refused; `why` is one clause.
  void refuse(locality_id from, const char* why) noexcept;
  /// Parcels of the program (not internal ones of net) between this locality and others. Local work that must finish
  /// before the job ends counts as a parcel from this locality to itself.
  struct parcel_sums {
    std::uint64_t sent = 0;
    std::uint64_t done = 0;     ///< their tasks have ended here
    std::uint64_t of_lost = 0;  ///< tasks of parcels from lost localities that have not ended here yet
    friend bool operator==(const parcel_sums&, const parcel_sums&) = default;
  };
  /// The sums over all localities except those in `lost`. Together with the sums of the other localities they show
  /// whether the job is quiescent: net/start/termination.hpp.
  [[nodiscard]] parcel_sums parcels_without(std::span<const locality_id> lost) const;
  [[nodiscard]] parcel_sums parcels() const { return parcels_without({}); }
  void note_sent(locality_id to) noexcept { traffic_[to].sent.fetch_add(1, std::memory_order_relaxed); }
  /// The task of a parcel from `from` may begin; read only once `from` is lost.
  void note_started(locality_id from) noexcept { traffic_[from].started.fetch_add(1, std::memory_order_relaxed); }
  void note_done(locality_id from) noexcept { traffic_[from].done.fetch_add(1, std::memory_order_release); }
  /// The task of this call begins, or the call was dropped: its credits go back to its sender. Once per call.
  void note_begun(const request& q) noexcept {
    if (q.credits != 0) {
      traffic& t = traffic_[q.from];
      const std::uint64_t begun = t.begun.fetch_add(q.credits, std::memory_order_relaxed) + q.credits;
      if (begun >= t.reported.load(std::memory_order_relaxed) + port_.credits_per_report()) [[unlikely]]
        report_credits(q.from, begun);
    }
    if (q.held != 0) [[unlikely]]
      held_pages_.fetch_sub(q.held, std::memory_order_relaxed);
  }
  /// The receive budget: how many bytes of data of calls may arrive, or wait for their calls to begin, at the same
  /// time, from all localities together. One message of any size may. By default an eighth of the machine's memory, in
  /// a job divided by the localities of the host.
  void bound_received(std::uint64_t bytes) noexcept {
    most_held_pages_.store(pages_of(bytes), std::memory_order_relaxed);
  }
  /// So many localities of this host share its memory.
  void share_memory(unsigned localities) noexcept;
  /// The bytes that count, in pages of 4 KiB.
  [[nodiscard]] std::uint64_t held_bytes() const noexcept {
    return held_pages_.load(std::memory_order_relaxed) * page_bytes;
  }
  /// The answer of a call of this locality, which itself has the object by now.
  void answer_here(const parcel_header& h, std::span<const std::byte> payload) noexcept;
  /// A post to a locality that is lost or has ended was dropped.
  void note_dropped() noexcept { port_.note_dropped(); }

  /// Sends all queued parcels and ends the transport, once. Calls that are still waiting fail with locality_lost.
  /// Returns false if the deadline passed. Requires: the runtime still exists.
  bool stop(double deadline_s) noexcept;
  /// stop() was called: nothing more is sent.
  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

 private:
  struct arriving;
  struct arrived_parcel;

  void arrived(locality_id from, std::span<const std::byte> head) noexcept override;
  void raw_arrived(locality_id from, std::span<const std::byte> message) noexcept override;
  bool has_room(std::span<const std::byte> head, std::uint64_t bytes, bool others_wait) noexcept override;
  void* announced(locality_id from, std::span<const std::byte> head, std::span<place> places) noexcept override;
  void pieces_arrived(locality_id from, void* announced, bool ok) noexcept override;
  void pieces_lost(locality_id from, void* announced) noexcept override;
  void lost(locality_id peer, std::string_view why) noexcept override;

  static poll_result poll(void* self);
  poll_result nothing_came(ticks now);
  bool take(locality_id from, const arrived_parcel& p, wire_reader& r, arriving* later, std::uint32_t held) noexcept;
  void drop_parcel(locality_id from, const arrived_parcel& p, std::uint64_t bytes, std::uint32_t held,
                   const char* why) noexcept;
  /// Null if there is no such action, and for replies.
  [[nodiscard]] const action_entry* action_of(const parcel_header& h) const noexcept {
    return h.action != 0 && h.action < actions_.size() ? actions_[h.action] : nullptr;
  }
  [[nodiscard]] std::uint32_t credits_of(const action_entry* e, const parcel_header& h,
                                         std::uint64_t bytes) const noexcept;
  void report_credits(locality_id to, std::uint64_t begun) noexcept;
  static constexpr std::uint64_t page_bytes = 4096;
  [[nodiscard]] static constexpr std::uint64_t pages_of(std::uint64_t bytes) noexcept {
    return bytes / page_bytes + (bytes % page_bytes != 0);
  }
  [[nodiscard]] locality_id caller_of(const arrived_parcel& p) const noexcept;
  [[nodiscard]] std::uint32_t held_by(const parcel_header& h, std::uint64_t bytes) const noexcept;
  void start(parcel_task* t, const action_entry& action, locality_id from) noexcept;
  service& make(std::atomic<service*>& place, std::unique_ptr<service> (*maker)(node&));

  static constexpr unsigned most_services = 32;

  runtime& runtime_;
  std::unique_ptr<transport> transport_;
  const locality_id here_;
  const unsigned size_;
  const unsigned first_spare_;
  const std::span<const action_entry* const> actions_;
  parcel_port port_;
  reply_table replies_;
  struct traffic {
    std::atomic<std::uint64_t> sent{0}, started{0}, done{0};  // started: in a task, or about to be dropped
    std::atomic<std::uint64_t> begun{0}, reported{0};         // credits: of begun calls, and as reported to the sender
  };
  std::vector<traffic> traffic_;  // by locality
  std::atomic<std::uint64_t> held_pages_{0};
  std::atomic<std::uint64_t> most_held_pages_;
  std::atomic<unsigned> being_taken_{0};  // messages whose parcels are being started
  std::uint64_t poller_ = 0;
  std::unique_ptr<waker> waker_;   // if the transport has a file descriptor for its events
  bool came_since_armed_ = false;  // something has happened since the transport was armed
  ticks quiet_since_ = 0;          // since when the poller has found nothing
  std::atomic<bool> stopped_{false};
  std::atomic<bool> leaving_{false};
  std::atomic<unsigned> losses_{0};
  struct locks;
  const std::unique_ptr<locks> locks_;
  std::array<std::atomic<service*>, most_services> services_{};
  std::vector<std::unique_ptr<service>> owned_;  // in the order they were made
};

/// The node that the caller's runtime is attached to; on an external thread that of the oldest runtime. Requires: it
/// exists.
node& node_here();
/// The same; null if there is no such node.
node* find_node() noexcept;

}  // namespace plx::net
