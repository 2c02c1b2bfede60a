// Global addresses (AGAS): the objects of this locality, distributed reference counts, and the places of objects.
//
// An id has a directory: the locality that created the object or, once that is lost, the first living one in an order
// that the id's hash determines. The directory knows where the object is and which localities hold references. Messages
// between two localities may overtake each other; none is lost or duplicated unless one of the two dies.
//
// Reference counts
//   A locality counts its own handles of an object (detail::reference). It claims the object at the directory when its
//   first handle arrives, with a number (stamp) that it uses once, and releases that stamp when its last handle is
//   destroyed.
//   I1. A locality with handles is in the directory's list of holders, or its claim is pending.
//   I2. A handle that is sent stays counted at its sender, as in transit to that receiver, until the receiver
//       acknowledges it; it does so once it is in the list. So a pending claim is always covered by a listed holder.
//   I3. A release carries its stamp: if it arrives after a newer claim of the same locality, it has no effect.
//   I4. A call in flight counts as a handle of the caller until its reply arrives; a post until the object accepts it.
//   By I1 to I4 the list becomes empty once, after which no handle exists: then the object is destroyed.
// Loss
//   A lost locality is removed from all lists, and handles in transit to it are dropped. Messages that it had sent may
//   have arrived, with pending claims that no holder covers any more (I2). So after a loss a directory destroys nothing
//   until the loss is settled: every survivor has reported that it knows of it and that its earlier claims are
//   registered. A release carries the number of losses known to its sender, so that the directory waits for a loss it
//   does not know yet.
//   The directories of a lost locality move: each survivor registers its objects again, and claims its references again
//   with their stamps, at the next directory, before it reports that the loss is settled. The next directory makes an
//   entry for the first message about such an id, even if it does not know of the loss yet. Calls that it cannot
//   forward wait until the owner has registered. A call names the directory that its caller would choose: a locality
//   that chooses an earlier candidate, which the caller knows to be lost, does not forward the call before it knows of
//   that loss as well. A call also waits on a locality that knows of the loss and has not handled it yet. An object
//   that is not registered when the losses are settled was on a lost locality: calls then fail with locality_lost. If
//   the new locality and the directory of an object that moves are both lost, the old locality keeps the object as it
//   was before the move.
// Migration
//   The object stays until no call runs in it, then is sent; calls that arrive meanwhile wait. Calls that arrive while
//   others still run wait as well, but for a limited time, because a running call may call its object. The new locality
//   requests ownership from the directory, which accepts only the next move of this object (`moves`): so an object is
//   never in two places. Then the old locality sends the waiting calls after it. If the move fails, the old locality
//   reclaims the object, if the directory agrees.
//   A call that arrives where the object is not is forwarded to the directory, and from there to the object; the
//   locality that runs it replies to the caller directly. Each caller caches the places of objects, and the directory
//   corrects the cache.
//
// Thread safety: everything. Cost: docs/net.md. Example: net/agas/test/component_test.cpp,
// net/agas/test/agas_sim_test.cpp
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "net/agas/gid.hpp"
#include "net/core/node.hpp"
#include "net/core/tree_round.hpp"
#include "net/global.hpp"
#include "rt/future.hpp"

namespace plx::net {

/// Totals and current numbers of this locality, consistent with each other: an object or reference that no longer
/// exists has been counted.
struct agas_counts {
  std::uint64_t lookups = 0;     ///< lookups of an object's place by callers
  std::uint64_t hits = 0;        ///< of those, found in the cache
  std::uint64_t misses = 0;      ///< of those, sent to the directory
  std::uint64_t forwards = 0;    ///< calls forwarded by this locality
  std::uint64_t migrations = 0;  ///< objects moved to another locality
  std::uint64_t claims = 0;      ///< references registered for this locality
  std::uint64_t releases = 0;    ///< references released
  std::uint64_t created = 0;     ///< objects created here
  std::uint64_t destroyed = 0;   ///< objects destroyed here
  std::uint64_t objects = 0;     ///< objects that live here now
  std::uint64_t references = 0;  ///< objects of which this locality holds handles now
  std::uint64_t entries = 0;     ///< objects whose directory is here now
  std::uint64_t holders = 0;     ///< localities in their lists of holders
  std::uint64_t lost = 0;        ///< objects whose directory is here, and which were lost with their locality
};

/// A component's type: one object per T.
struct object_type {
  std::uint32_t tag = 0;
  std::string_view name;
};

namespace detail {

template <class T>
inline const object_type object_type_of{object_type_tag<T>, object_type_text<T>()};

struct object_record;
struct agas_tables;
struct claim;
struct directory_entry;
struct reference_updates;
struct registration;
struct shard;

/// The result of looking up an object on a locality.
struct access {
  enum kind : std::uint8_t {
    here,       ///< the object is pinned until unpin()
    parked,     ///< the calling task is submitted again when the object has moved or a loss has been handled
    elsewhere,  ///< forward the call to `where`
    lost,       ///< its locality, `where`, is lost
    gone,       ///< unknown or destroyed
    other_type  ///< the object has a different type
  } what = gone;
  locality_id where = no_locality;
  object_record* record = nullptr;
  void* object = nullptr;
};

/// The caller of an object.
struct call_origin {
  locality_id caller = no_locality;
  locality_id directory = no_locality;  ///< the object's directory, by the losses that it knew when it made the call
};

/// Lets a task wait instead of being parked.
struct parking : plx::detail::task {
  parking();
  promise<void> over;
};

/// Sends an object, which the old locality may then forget; ready when it lives at `to`.
using send_object = future<void> (*)(locality_id to, const gid& id, std::uint32_t moves, std::shared_ptr<void> object);

/// The exception of a call that found no object.
std::exception_ptr error_of(const node& n, const access& a, const gid& id);

}  // namespace detail

class agas final : public service {
 public:
  explicit agas(node& n);
  ~agas() override;
  void peer_lost(locality_id which) override;

  [[nodiscard]] node& home() const noexcept { return node_; }
  [[nodiscard]] agas_counts counts() const;

  // References. See net/global.hpp.
  detail::reference* arrived(const gid& id, locality_id sender, detail::object_place place);
  void leaves(detail::reference& r, locality_id to) noexcept;
  void last_dropped(detail::reference& r) noexcept;
  /// The first handle of an object created for this locality under this stamp.
  detail::reference* adopt(const gid& id, std::uint64_t stamp, locality_id where);
  [[nodiscard]] std::uint64_t next_stamp() noexcept { return 1 + stamps_.fetch_add(1, std::memory_order_relaxed); }

  // Objects.
  /// Adds a new local object, kept alive by `holder` under its stamp. Throws std::runtime_error if `holder` is lost.
  gid enter(const object_type& type, std::shared_ptr<void> object, locality_id holder, std::uint64_t stamp);
  /// Pins the object, or returns where to forward the call. `waits`: the task to submit again if the object is being
  /// moved, or its place cannot be known yet; if null, an object that is being moved counts as gone. `to_move`: the
  /// caller will call request_move(); one at a time.
  detail::access pin(const gid& id, const object_type& type, plx::detail::task* waits, bool to_move,
                     const detail::call_origin& from);
  /// Requires: `r` was pinned by pin().
  void unpin(detail::object_record& r) noexcept;
  /// Requires: pinned to move. Ready when the object lives at `to`.
  future<void> request_move(detail::object_record& r, locality_id to, detail::send_object send);
  /// Adds an object that arrives from another locality.
  future<void> install(const gid& id, const object_type& type, std::uint32_t moves, std::shared_ptr<void> object);
  /// The directory of an object, by all losses that this locality knows, including those not handled yet.
  [[nodiscard]] locality_id directory_for_call(const gid& id) const noexcept;
  /// The first locality to send a call to; `here`: the object is, or recently was, here; `parked`: a task has to wait
  /// until its place is known. Never pins.
  detail::access route(detail::reference& r);

  // Called by the actions in agas_tables.hpp.
  bool note_moved(const gid& id, locality_id to, std::uint32_t moves);
  bool reclaim(const gid& id, locality_id owner, std::uint32_t moves);
  void read(locality_id from, detail::reference_updates&& l);
  [[nodiscard]] unsigned losses() const noexcept;
  void take_settlement_request(std::uint64_t losses);
  void settle(locality_id from, round_number r, const named_losses& lost);
  void subtree_settled(locality_id child, round_number r);
  void settled(locality_id from, round_number r);

 private:
  [[nodiscard]] locality_id directory_of(const gid& id) const noexcept;
  [[nodiscard]] bool is_directory(const gid& id) const noexcept { return directory_of(id) == node_.here(); }
  [[nodiscard]] bool sound(locality_id from, const detail::reference_updates& l) const noexcept;
  void submit(plx::detail::task* first) noexcept;

  // References.
  void acknowledge(locality_id sender, const gid& id);
  void end_claim(const gid& id, std::uint64_t stamp, detail::claim_state s, locality_id lost);
  void end_transit(locality_id receiver, const gid& id, std::uint64_t n) noexcept;
  void claim_again(locality_id lost, unsigned epoch);

  // Settlement of losses: agas_settlement.cpp.
  void request_settlement_if_needed();
  void request_settlement();
  void begin_settlement(const std::vector<locality_id>& lost);
  void advance_settlement();

  // The directory.
  [[nodiscard]] bool is_settled(const gid& id, unsigned losses);
  detail::directory_entry* entry_for(detail::shard& s, const gid& id, unsigned losses);
  void registered_again(locality_id owner, const detail::registration& r, unsigned losses);
  void claimed(locality_id holder, const detail::claim& c, unsigned losses);
  void released(locality_id holder, const detail::claim& c, unsigned losses);
  void resolve(const gid& id, unsigned losses);
  void lose_entries(locality_id which);

  // Objects.
  detail::access next_of(detail::shard& s, const gid& id, detail::object_place& place, plx::detail::task* waits,
                         const detail::call_origin& from);
  [[nodiscard]] bool awaits_loss(const gid& id, locality_id directory, const detail::call_origin& from) const noexcept;
  void resume_calls() noexcept;
  void drain(const gid& id, std::uint32_t moves, future<void> unpinned);
  bool hold_calls(const gid& id, std::uint32_t moves, bool hold);
  void begin_move(const detail::object_record& r);
  void finish_move(const gid& id, locality_id to, std::uint32_t moves, const std::exception_ptr& failure);
  void request_return(const gid& id);
  void move_failed(const gid& id, std::uint32_t moves, bool ours);
  void insert_arriving(std::unique_ptr<detail::object_record> r);
  void request_ownership(const gid& id);
  void finish_install(const gid& id, std::uint32_t moves, const std::exception_ptr& failure);
  void end(std::unique_ptr<detail::object_record> r) noexcept;
  void remove(const gid& id);
  void destroy(const gid& id);
  void register_again(locality_id lost, unsigned epoch);
  void end_registration(const gid& id, locality_id directory);

  node& node_;
  const std::unique_ptr<detail::agas_tables> tables_;
  std::atomic<std::uint64_t> stamps_{0}, numbers_{0};
  std::atomic<std::uint64_t> lookups_{0}, hits_{0}, misses_{0}, forwards_{0};  // the rest: detail::shard
};

}  // namespace plx::net
