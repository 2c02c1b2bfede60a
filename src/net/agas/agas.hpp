// Global addresses: which objects live here, who keeps which object alive, and where objects are.
//
// An id has a directory: the locality that its hash names. It knows where the object is and keeps the list of the
// localities that hold references. Messages between two localities may overtake each other; none is lost or doubled
// unless one of the two dies.
//
// Reference counts
//   A locality counts its own handles of an object (detail::reference). It claims the object at the directory when its
//   first handle arrives, with a number (stamp) that it uses once, and releases that stamp when its last handle goes.
//   I1. A locality with handles is in the directory's list, or its claim is pending.
//   I2. A handle that is sent counts at its sender, as a keepsake for that receiver, until the receiver says thanks; it
//       does when it is in the list. So a pending claim is always covered by somebody who is in the list.
//   I3. A release names its stamp: one that comes late, after a newer claim of the same locality, does nothing.
//   I4. A call under way counts as a handle of who called, until it is answered; a post until the object has taken it.
//   By I1 to I4 the list becomes empty once, after which nobody has a handle: then the object is destroyed.
// Death
//   A dead locality is taken off all lists, and keepsakes for it end. What it had sent may have arrived, with claims
//   pending that nobody covers any more (I2). So after a loss a directory destroys nothing until every survivor has
//   said that it saw the loss, too, and that its claims from before are registered. A release carries the number of
//   losses its sender knew, so that a directory cannot miss one that the sender has acted on.
//   An object dies with its locality, and with its directory: then calls give locality_lost with that number.
// Migration
//   The object stays until no call runs in it, then travels; calls that come meanwhile wait. The new locality asks the
//   directory to be the owner, and is refused unless the move is the next one of this object (`moves`): so an object
//   is never at two places. Then the old locality sends what waited after it. Where the move fails, the old locality
//   takes the object back, if the directory agrees.
//   A call that comes to where the object is not goes on to its directory, and from there to the object; the answer
//   comes back the same way. Each caller remembers where objects were (a cache), and the directory corrects it.
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
#include "net/global.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/future.hpp"

namespace plx::net {

/// What this locality has done, and what it has. Of each object and reference the two belong together: what is not
/// there any more was counted.
struct agas_counts {
  std::uint64_t lookups = 0;     ///< times a caller had to know where an object is
  std::uint64_t hits = 0;        ///< of those, the cache knew it
  std::uint64_t misses = 0;      ///< the directory was asked
  std::uint64_t forwards = 0;    ///< calls that came here and went on
  std::uint64_t migrations = 0;  ///< objects that left here
  std::uint64_t claims = 0;      ///< references that were registered for this locality
  std::uint64_t releases = 0;    ///< and given back
  std::uint64_t created = 0;     ///< objects that were made here
  std::uint64_t destroyed = 0;   ///< and those that ended here
  std::uint64_t objects = 0;     ///< that live here now
  std::uint64_t references = 0;  ///< objects that this locality holds handles of now
  std::uint64_t entries = 0;     ///< objects whose directory this is now
  std::uint64_t holders = 0;     ///< localities in the lists of those
};

/// What agas knows of a component's type: one per T.
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
struct letter;
struct shard;

/// What a call finds at the place it came to.
struct access {
  enum kind : std::uint8_t {
    here,       ///< the object stays until unpin()
    parked,     ///< the task that asked is submitted again when the object has moved
    elsewhere,  ///< go on to `where`
    lost,       ///< its locality or its directory is: `where`
    gone,       ///< nobody knows it
    other_type  ///< it is not what the call takes it for
  } what = gone;
  locality_id where = no_locality;
  object_record* record = nullptr;
  void* object = nullptr;
};

/// Lets a task wait where a call would be parked.
struct parking : plx::detail::task {
  parking();
  promise<void> over;
};

/// Sends an object after which the old locality may forget it; ready when it lives at `to`.
using send_object = future<void> (*)(locality_id to, const gid& id, std::uint32_t moves, std::shared_ptr<void> object);

/// What a call throws that found no object.
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
  /// The first handle of what was made for this locality under this stamp.
  detail::reference* adopt(const gid& id, std::uint64_t stamp, locality_id where);
  [[nodiscard]] std::uint64_t next_stamp() noexcept { return 1 + stamps_.fetch_add(1, std::memory_order_relaxed); }

  // Objects.
  /// A new object here, kept alive by `holder` under its stamp. Ready when its directory knows it.
  future<gid> enter(const object_type& type, std::shared_ptr<void> object, locality_id holder, std::uint64_t stamp);
  /// Gets hold of the object, or of where to go on. `waits`: to be submitted again if the object is on its way; null:
  /// then it is nowhere. `to_move`: the caller will ask_move(), one at a time.
  detail::access pin(const gid& id, const object_type& type, plx::detail::task* waits, bool to_move,
                     locality_id caller);
  /// Requires: pin() gave it.
  void unpin(detail::object_record& r) noexcept;
  /// Requires: pinned to move. Ready when the object lives at `to`.
  future<void> ask_move(detail::object_record& r, locality_id to, detail::send_object send);
  /// An object that comes from another locality.
  future<void> install(const gid& id, const object_type& type, std::uint32_t moves, std::shared_ptr<void> object);
  /// Where a call goes first; `here`: the object is, or was just now. Never pins.
  detail::access route(detail::reference& r);

  // What the twins call.
  bool note_entered(const gid& id, locality_id owner, locality_id holder, std::uint64_t stamp);
  bool note_moved(const gid& id, locality_id to, std::uint32_t moves);
  bool take_back(const gid& id, locality_id owner, std::uint32_t moves);
  void read(locality_id from, detail::letter&& l);
  [[nodiscard]] unsigned losses() const noexcept;
  void settle_asked(locality_id lost, locality_id asker);
  void settled(locality_id lost, locality_id who);

 private:
  [[nodiscard]] locality_id directory_of(const gid& id) const noexcept {
    return static_cast<locality_id>(hash_of(id) % node_.size());
  }
  [[nodiscard]] bool is_directory(const gid& id) const noexcept { return directory_of(id) == node_.here(); }
  [[nodiscard]] bool sound(locality_id from, const detail::letter& l) const noexcept;
  gid fresh_id(const object_type& type);
  void submit(plx::detail::task* first) noexcept;

  // References.
  void thank(locality_id sender, const gid& id);
  void end_claim(const gid& id, std::uint64_t stamp, detail::claim_state s, locality_id lost);
  void drop_keepsakes(locality_id receiver, const gid& id, std::uint64_t n) noexcept;
  void lose_references(locality_id which);
  void answer_settle_questions();

  // The directory.
  void claimed(locality_id holder, const detail::claim& c);
  void released(locality_id holder, const detail::claim& c, unsigned losses);
  bool add_holder(const gid& id, locality_id holder, std::uint64_t stamp);
  void destroy_if_settled(const gid& id, unsigned losses);
  void lose_entries(locality_id which);

  // Objects.
  detail::access next_of(detail::shard& s, const gid& id, detail::object_place& place);
  [[nodiscard]] detail::access missing(const gid& id) const;
  void begin_move(const detail::object_record& r);
  void finish_move(const gid& id, locality_id to, std::uint32_t moves, const std::exception_ptr& failure);
  void ask_back(const gid& id, std::uint32_t moves, const std::exception_ptr& failure);
  void move_failed(const gid& id, bool ours, const std::exception_ptr& failure);
  void insert_arriving(std::unique_ptr<detail::object_record> r);
  void finish_install(const gid& id, bool accepted);
  void end(std::unique_ptr<detail::object_record> r) noexcept;
  void remove(const gid& id);
  void destroy(const gid& id);
  void lose_objects(locality_id which);

  node& node_;
  const std::unique_ptr<detail::agas_tables> tables_;
  std::atomic<std::uint64_t> stamps_{0}, numbers_{0};
  std::atomic<std::uint64_t> lookups_{0}, hits_{0}, misses_{0}, forwards_{0};  // of calls; the rest: detail::shard
  std::vector<probe::registration> counters_;
};

}  // namespace plx::net
