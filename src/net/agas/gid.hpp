// Global ids, and the reference of a locality to an object: one per object and locality, with a count of handles.
//
// Thread safety: everything. Cost: copying a handle is an atomic increment; the first and the last one take a lock.
// Example: net/agas/test/component_test.cpp
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/bitwise.hpp"
#include "net/locality.hpp"

namespace plx {

// The number by which all localities name an object. It does not change when the object moves.
//
// Thread safety: values. Cost: 16 bytes. Programs hold a plx::global (net/global.hpp), which also keeps the object
// alive; a gid alone is for keys, tables and messages. Example: net/agas/test/component_test.cpp

struct gid {
  locality_id origin = no_locality;  ///< the locality that created it
  std::uint32_t type = 0;            ///< hash of the type's name
  std::uint64_t number = 0;          ///< counts the objects created there; 0: no object

  /// False if it names no object.
  explicit operator bool() const noexcept { return number != 0; }
  friend auto operator<=>(const gid&, const gid&) = default;
};
template <>
inline constexpr bool is_bitwise<gid> = true;

/// A hash that distributes ids evenly.
[[nodiscard]] constexpr std::uint64_t hash_of(const gid& id) noexcept {
  std::uint64_t h = id.number + (std::uint64_t{id.origin} << 40) + 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}
/// "2:17": the 17th object created on locality 2.
[[nodiscard]] std::string to_string(const gid& id);

}  // namespace plx

namespace plx::net {

class agas;

namespace detail {

/// A known place of an object; `moves` is the number of its moves by then, so that older information is ignored.
struct object_place {
  locality_id where = no_locality;
  std::uint32_t moves = 0;
};

/// The state of this locality's claim at the directory.
enum class claim_state : std::uint8_t {
  pending,     ///< sent; the senders of our handles keep theirs until it is registered
  registered,  ///< in the directory's list
  gone,        ///< failed: the directory has no such object, or the sender of the handle is lost
};

// Invariants: `handles` changes from 0 to 1 and from 1 to 0 only under the lock of the table's shard; otherwise
// without. All members below `place` are guarded by that lock. It is removed when `handles` is 0 and the claim is not
// pending.
struct reference {
  reference(agas* a, const gid& i) noexcept : home(a), id(i) {}

  std::atomic<agas*> home;  // null after the agas service has been destroyed
  const gid id;
  std::atomic<std::uint64_t> handles{1};  // of programs, in messages, and of calls in flight
  std::atomic<std::uint64_t> place{no_locality};

  claim_state state = claim_state::pending;
  locality_id directory = no_locality;      // the locality of the claim
  locality_id lost = no_locality;           // the reason for `gone`
  bool counted = false;                     // in shard_counts::claims
  std::uint64_t stamp = 0;                  // stamp of the claim
  unsigned epoch = 0;                       // number of losses known when the claim was made
  std::vector<locality_id> to_acknowledge;  // the senders of handles that arrived while it was pending

  [[nodiscard]] object_place seen() const noexcept {
    const std::uint64_t p = place.load(std::memory_order_relaxed);  // a hint: publishes nothing else
    return {static_cast<locality_id>(p), static_cast<std::uint32_t>(p >> 32)};
  }
  /// Stores the place if it is newer.
  void see(object_place p) noexcept {
    const std::uint64_t packed = (std::uint64_t{p.moves} << 32) | p.where;
    std::uint64_t old = place.load(std::memory_order_relaxed);
    while (static_cast<locality_id>(old) == no_locality || (old >> 32) < p.moves)
      if (place.compare_exchange_weak(old, packed, std::memory_order_relaxed)) return;
  }
};

/// Adds a handle. Requires: the caller has one.
inline reference* keep(reference* r) noexcept {
  if (r != nullptr) r->handles.fetch_add(1, std::memory_order_relaxed);
  return r;
}
/// Removes a handle.
void drop(reference* r) noexcept;

/// The handles in a net::payload, whose bytes refer to them by index: until the payload is destroyed, each counts as a
/// handle and keeps its object alive.
class held_handles {
 public:
  held_handles() = default;
  ~held_handles() {
    for (reference* r : all_) drop(r);
  }
  held_handles(const held_handles&) = delete;
  held_handles& operator=(const held_handles&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] reference* at(std::size_t i) const { return all_[i]; }
  /// Adds a handle; the caller keeps its own.
  void add(reference* r) {
    all_.push_back(r);
    keep(r);
  }
  /// Adds a handle and takes over the caller's count.
  void adopt(reference* r) { all_.push_back(r); }

 private:
  std::vector<reference*> all_;
};

}  // namespace detail
}  // namespace plx::net
