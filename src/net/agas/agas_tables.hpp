// The tables of a locality, by id: its handles, the object if it lives here, and the entry if this is its directory.
// The three records of an id are in the same shard under one lock, and are therefore consistent.
//
// Thread safety: tables under the shard's lock; outbox and loss_table: everything. Cost: a hash and a lock; without
// losses the table costs a few instructions. Example: net/agas/test/component_test.cpp,
// net/agas/test/loss_table_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/action.hpp"
#include "net/agas/agas.hpp"
#include "net/agas/gid.hpp"
#include "net/core/node.hpp"
#include "net/core/tree_round.hpp"
#include "net/core/wire.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net::detail {

// Batches of reference updates between localities: collected per receiver, sent as one parcel.

/// A locality's interest in an object: begins with a claim, ends with a release of the same stamp.
struct claim {
  gid id;
  std::uint64_t stamp = 0;
};
/// The directory's reply to a claim.
struct claim_result {
  gid id;
  std::uint64_t stamp = 0;
  std::uint64_t known = 0;  ///< 1: registered; 0: the directory has no such object
};
/// An object that its owner registers at the next directory, because the one before is lost.
struct registration {
  gid id;
  std::uint64_t moves = 0;
};
/// Acknowledges handles sent by the receiver of this: they are registered.
struct acknowledgement {
  gid id;
  std::uint64_t handles = 0;
};
/// The place of an object.
struct place_update {
  gid id;
  object_place place;
};

struct reference_updates {
  std::uint64_t losses = 0;  ///< number of losses known to the sender
  std::vector<claim> claims, releases;
  std::vector<claim_result> claim_results;
  std::vector<acknowledgement> acknowledged;
  std::vector<place_update> places;
  std::vector<gid> destroys;
  std::vector<registration> registrations;
  std::vector<gid> registered;  ///< replies to registrations

  [[nodiscard]] bool empty() const noexcept {
    return claims.empty() && releases.empty() && claim_results.empty() && acknowledged.empty() && places.empty() &&
           destroys.empty() && registrations.empty() && registered.empty();
  }
};

/// Collects letters until a task sends them.
class outbox {
 public:
  /// `deliver(to, letter)` is called in a task, also for letters to this locality.
  outbox(node& n, void (*deliver)(agas&, locality_id, reference_updates&&), agas& owner);
  ~outbox();

  /// Calls fill(letter) with the letter for that locality, under a lock. Nothing is sent to lost localities.
  template <class F>
  void put(locality_id to, F fill) {
    lock_.lock();
    if (batches_[to].empty()) used_.push_back(to);
    fill(batches_[to]);
    filled();
  }

 private:
  void filled();
  void flush();

  node& node_;
  void (*const deliver_)(agas&, locality_id, reference_updates&&);
  agas& owner_;
  plx::detail::spinlock lock_;
  bool scheduled_ = false;
  std::vector<reference_updates> batches_;  // by receiver
  std::vector<locality_id> used_;           // the receivers of those that are not empty
};

/// Decides when a directory may trust its lists of holders again after a loss: once every survivor knows of the loss
/// and has registered all handles that it received before. See net/agas/agas.hpp, "Loss".
class loss_table {
 public:
  explicit loss_table(unsigned localities);

  /// Adds a loss, which is not settled here before end_claim() is called with the result: what depends on the lost
  /// directory is claimed again meanwhile, with begin_claim(result). Nothing if the loss is known already.
  std::optional<unsigned> add(locality_id lost);
  /// Whether this loss is known.
  [[nodiscard]] bool knows(locality_id lost) const noexcept { return known_[lost].load(std::memory_order_acquire); }
  /// The number of known losses. Acquire: knows() is true for these.
  [[nodiscard]] unsigned seen() const noexcept { return seen_.load(std::memory_order_acquire); }

  /// Begins a claim; returns the epoch to pass to end_claim().
  unsigned begin_claim();
  void begin_claim(unsigned epoch) noexcept;
  void end_claim(unsigned epoch) noexcept;

  /// Whether this locality has settled these losses: they are known, and no earlier claim is pending.
  [[nodiscard]] bool settled_here(std::span<const locality_id> lost) const noexcept;
  /// All survivors have settled these losses.
  void settle(std::span<const locality_id> lost) noexcept;

  /// True if every known loss is settled and at least `needs` are known; otherwise the id is kept for ready(), and a
  /// settlement may have to be requested.
  bool settled_or_defer(const gid& id, unsigned needs);
  /// Whether ids are kept because of a loss for which this was not true before.
  bool needs_settlement();
  /// Removes and returns the deferred ids if settled_or_defer() would now return true.
  std::vector<gid> ready();

 private:
  struct loss {
    locality_id who = 0;
    bool settled = false, requested = false;
  };
  [[nodiscard]] bool settled(unsigned needs) const noexcept;

  std::vector<std::atomic<bool>> known_;  // by locality
  std::atomic<unsigned> seen_{0};         // the number of those, increased afterwards
  mutable plx::detail::spinlock lock_;
  std::vector<loss> losses_;            // in the order of detection
  std::vector<std::uint64_t> pending_;  // pending claims by the number of losses known when they began
  std::vector<gid> deferred_;
  unsigned needs_ = 0;  // maximum over the deferred ids
};

/// Tasks that wait for an object, in FIFO order.
struct parked_tasks {
  plx::detail::task* first = nullptr;
  plx::detail::task** end = &first;

  parked_tasks() noexcept = default;
  parked_tasks(parked_tasks&& o) noexcept { take(o); }
  parked_tasks& operator=(parked_tasks&& o) noexcept { return take(o), *this; }
  void add(plx::detail::task* t) noexcept {
    t->next = nullptr;
    *end = t;
    end = &t->next;
  }
  void take(parked_tasks& o) noexcept {
    first = std::exchange(o.first, nullptr);
    end = first == nullptr ? &first : o.end;
    o.end = &o.first;
  }
};

struct object_record {
  enum place : std::uint8_t {
    here,     // calls run
    moving,   // being sent to another locality, returns if that fails; calls are parked
    arriving  // ownership has been requested from the directory; calls are parked
  };

  gid id;
  const object_type* type = nullptr;
  std::shared_ptr<void> object;
  place state = here;
  bool doomed = false;          // destroyed when the last pin is released
  bool move_requested = false;  // by one caller, which has it pinned or waits for `moved`
  unsigned pins = 0;
  std::uint32_t moves = 0;
  locality_id move_to = no_locality;
  locality_id directory = no_locality;    // the locality that knows where it is, or decides on the ownership
  std::exception_ptr failure;             // of the move, while its return is requested from the directory
  std::optional<promise<void>> accepted;  // of an arriving object: the directory has agreed, or not
  send_object send = nullptr;             // null until the move may begin
  bool holds_calls = false;               // new calls are parked, so that the running ones end before the move
  std::optional<promise<void>> unpinned;  // ready when the last pin is released, if a task waits for that
  std::optional<promise<void>> moved;
  parked_tasks parked;
};

/// The directory's record of an object.
struct directory_entry {
  locality_id owner = no_locality;  // not known yet: no_locality
  bool lost = false;                // with its owner; kept while it has holders, which get the error
  std::uint32_t moves = 0;
  std::vector<std::pair<locality_id, std::uint64_t>> holders;  // with the newest stamp of each
  parked_tasks parked;                                         // until the owner is known

  void add(locality_id who, std::uint64_t stamp) {
    for (auto& [l, s] : holders)
      if (l == who) return void(s = std::max(s, stamp));
    holders.emplace_back(who, stamp);
  }
};

struct gid_hash {
  std::size_t operator()(const gid& id) const noexcept { return static_cast<std::size_t>(hash_of(id)); }
};
template <class T>
using gid_map = std::unordered_map<gid, T, gid_hash>;

/// Totals of the ids of a shard, updated under the same lock as the change.
struct shard_counts {
  std::uint64_t created = 0, destroyed = 0, migrations = 0;  // objects
  std::uint64_t claims = 0, releases = 0;                    // references
};

struct shard {
  plx::detail::spinlock lock;
  shard_counts counts;
  gid_map<reference*> references;
  gid_map<std::unique_ptr<object_record>> objects;
  gid_map<directory_entry> entries;
  /// Objects that were registered again, until the directory has replied.
  struct again {
    locality_id directory = no_locality;
    unsigned epoch = 0;
  };
  gid_map<again> registrations;
  parked_tasks await_loss;  // of calls that depend on a loss which peer_lost() has not handled yet

  object_record* object(const gid& id) {
    const auto at = objects.find(id);
    return at == objects.end() ? nullptr : at->second.get();
  }
  directory_entry* entry(const gid& id) {
    const auto at = entries.find(id);
    return at == entries.end() ? nullptr : &at->second;
  }
  reference* find(const gid& id) {
    const auto at = references.find(id);
    return at == references.end() ? nullptr : at->second;
  }
  std::unique_ptr<object_record> take_object(const gid& id) {
    const auto node = objects.extract(id);
    return node.empty() ? nullptr : std::move(node.mapped());
  }
  /// The same, counted as destroyed.
  std::unique_ptr<object_record> end_object(const gid& id) {
    auto r = take_object(id);
    counts.destroyed += r != nullptr;
    return r;
  }
  /// Updates the place of the object in the local reference, if there is one.
  void update_place(const gid& id, object_place p) {
    if (reference* r = find(id)) r->see(p);
  }
};

/// Handles in transit to one locality: sent, but not acknowledged by the receiver.
struct transit_table {
  struct item {
    reference* ref = nullptr;
    std::uint64_t handles = 0;
  };
  plx::detail::spinlock lock;
  gid_map<item> items;
};

/// The round in which the survivors settle losses. See agas_settlement.cpp.
struct settlement {
  settlement(locality_id here, unsigned localities) : round(here, localities) {}

  plx::detail::spinlock lock;
  tree_round round;
  bool replied = true;        // by this locality; the first round is over
  std::size_t requested = 0;  // the largest number of losses for which a settlement was requested
  std::size_t settled = 0;    // the number of those of the last one
};

struct agas_tables {
  agas_tables(node& n, agas& owner, void (*deliver)(agas&, locality_id, reference_updates&&))
      : losses(n.size()), settling(n.here(), n.size()), out(n, deliver, owner), sent(n.size()) {}

  shard& of(const gid& id) { return shards[(hash_of(id) >> 56) % shards.size()]; }

  std::array<shard, 16> shards;
  loss_table losses;
  settlement settling;
  outbox out;
  std::vector<transit_table> sent;  // by receiver
  std::vector<probe::registration> counters;
};

}  // namespace plx::net::detail

namespace plx::net {

// Calls between the agas services of different localities.
//
// Thread safety: actions. Cost: docs/net.md. Example: net/agas/test/component_test.cpp

namespace detail {

void agas_updates(sender from, reference_updates l);
bool agas_moved(sender to, gid id, std::uint32_t moves);
bool agas_reclaim(sender owner, gid id, std::uint32_t moves);
void agas_settlement_request(sender from, std::uint64_t losses);
void agas_settle(sender root, round_number r, const named_losses& lost);
void agas_subtree_settled(sender child, round_number r);
void agas_settled(sender root, round_number r);
void agas_call_forwarded(sender from, std::uint64_t call, std::uint32_t hops, locality_id to);
void agas_call_reached(sender who, std::uint64_t call, std::uint32_t hops);

std::vector<probe::registration> add_agas_counters(node& n, const agas& a);

}  // namespace detail

// These take some locks and do not wait.
template <>
inline constexpr bool is_direct<&detail::agas_updates> = true;
template <>
inline constexpr bool is_direct<&detail::agas_moved> = true;
template <>
inline constexpr bool is_direct<&detail::agas_call_forwarded> = true;
template <>
inline constexpr bool is_direct<&detail::agas_call_reached> = true;
template <>
inline constexpr bool is_direct<&detail::agas_reclaim> = true;

}  // namespace plx::net

namespace plx {
template <>
inline constexpr bool is_bitwise<net::detail::claim> = true;
template <>
inline constexpr bool is_bitwise<net::detail::claim_result> = true;
template <>
inline constexpr bool is_bitwise<net::detail::registration> = true;
template <>
inline constexpr bool is_bitwise<net::detail::acknowledgement> = true;
template <>
inline constexpr bool is_bitwise<net::detail::place_update> = true;

namespace net {
template <>
struct wire_codec<detail::reference_updates> {
  static void write(wire_writer& w, const detail::reference_updates& l) {
    net::write(w, l.losses), net::write(w, l.claims), net::write(w, l.releases), net::write(w, l.claim_results);
    net::write(w, l.acknowledged), net::write(w, l.places), net::write(w, l.destroys);
    net::write(w, l.registrations), net::write(w, l.registered);
  }
  static void read(wire_reader& r, detail::reference_updates& l) {
    net::read(r, l.losses), net::read(r, l.claims), net::read(r, l.releases), net::read(r, l.claim_results);
    net::read(r, l.acknowledged), net::read(r, l.places), net::read(r, l.destroys);
    net::read(r, l.registrations), net::read(r, l.registered);
  }
};
}  // namespace net
}  // namespace plx
