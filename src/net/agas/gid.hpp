// What a locality knows of an object that it holds handles of: one per object and locality, counted.
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

// The number of an object that other localities can name. It stays the same wherever the object moves.
//
// Thread safety: values. Cost: 16 bytes. Programs hold a plx::global (net/global.hpp), which also keeps the object
// alive; a gid alone is for keys, tables and messages to people. Example: net/agas/test/component_test.cpp

struct gid {
  locality_id origin = no_locality;  ///< where it was made
  std::uint32_t type = 0;            ///< of its type's name
  std::uint64_t number = 0;          ///< counts what was made there; 0: no object

  /// False: no object.
  explicit operator bool() const noexcept { return number != 0; }
  friend auto operator<=>(const gid&, const gid&) = default;
};
template <>
inline constexpr bool is_bitwise<gid> = true;

/// Spreads ids evenly.
[[nodiscard]] constexpr std::uint64_t hash_of(const gid& id) noexcept {
  std::uint64_t h = id.number + (std::uint64_t{id.origin} << 40) + 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}
/// "2:17": the 17th object that was made on locality 2.
[[nodiscard]] std::string to_string(const gid& id);

}  // namespace plx

namespace plx::net {

class agas;

namespace detail {

/// Where an object was seen: `moves` says how often it had moved by then, so that older news do not replace newer.
struct object_place {
  locality_id where = no_locality;
  std::uint32_t moves = 0;
};

/// What the directory says of this locality's claim to keep the object alive.
enum class claim_state : std::uint8_t {
  pending,     ///< on its way there; until then those who sent us handles keep theirs
  registered,  ///< it counts
  gone,        ///< it cannot: the directory is lost, or the object was
};

// Invariants: `handles` goes from 0 to 1 and from 1 to 0 under the lock of the table's shard only; otherwise without.
// All below `place` is guarded by that lock. It leaves the table when `handles` is 0 and it is not pending.
struct reference {
  reference(agas* a, const gid& i) noexcept : home(a), id(i) {}

  std::atomic<agas*> home;  // null once the locality's part of the network is gone
  const gid id;
  std::atomic<std::uint64_t> handles{1};  // those of programs, those in messages, and calls that are under way
  std::atomic<std::uint64_t> place{no_locality};

  claim_state state = claim_state::pending;
  locality_id lost = no_locality;     // why it is gone
  std::uint64_t stamp = 0;            // of the claim
  unsigned epoch = 0;                 // losses that were known when the claim began
  std::vector<locality_id> to_thank;  // who sent us handles while it is pending

  [[nodiscard]] object_place seen() const noexcept {
    const std::uint64_t p = place.load(std::memory_order_relaxed);  // a hint: nothing else is read through it
    return {static_cast<locality_id>(p), static_cast<std::uint32_t>(p >> 32)};
  }
  /// Takes it over if it is newer.
  void see(object_place p) noexcept {
    const std::uint64_t news = (std::uint64_t{p.moves} << 32) | p.where;
    std::uint64_t old = place.load(std::memory_order_relaxed);
    while (static_cast<locality_id>(old) == no_locality || (old >> 32) < p.moves)
      if (place.compare_exchange_weak(old, news, std::memory_order_relaxed)) return;
  }
};

/// One handle more. Requires: the caller has one.
inline reference* keep(reference* r) noexcept {
  if (r != nullptr) r->handles.fetch_add(1, std::memory_order_relaxed);
  return r;
}
/// One handle less.
void drop(reference* r) noexcept;

/// Handles of this locality that the bytes of a net::payload name by their index: while the payload waits to be read,
/// each counts as a handle, so that its object lives.
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
  /// Holds one more, of which the caller keeps its own.
  void add(reference* r) {
    all_.push_back(r);
    keep(r);
  }
  /// Takes over one of the reference's count.
  void adopt(reference* r) { all_.push_back(r); }

 private:
  std::vector<reference*> all_;
};

}  // namespace detail
}  // namespace plx::net
