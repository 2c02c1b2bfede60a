// The tables of a locality, by id: its handles, the object if it lives here, and the entry if this is its directory.
// The three records of an id are in the same shard under one lock, and are therefore consistent.
//
// Thread safety: under the shard's lock. Cost: a hash and a lock. Example: net/agas/test/component_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/action.hpp"
#include "net/agas/agas.hpp"
#include "net/agas/letter.hpp"
#include "net/agas/loss_ledger.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net::detail {

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
  bool doomed = false;      // destroyed when the last pin is released
  bool move_asked = false;  // by one caller, which has it pinned or waits for `moved`
  unsigned pins = 0;
  std::uint32_t moves = 0;
  locality_id move_to = no_locality;
  send_object send = nullptr;  // null until the move may begin
  std::optional<promise<void>> moved;
  parked_tasks parked;
};

/// The directory's record of an object.
struct directory_entry {
  locality_id owner = no_locality;
  bool lost = false;  // with its owner; kept while it has holders, which get the error
  std::uint32_t moves = 0;
  std::vector<std::pair<locality_id, std::uint64_t>> holders;  // with the newest stamp of each

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
  void tell_place(const gid& id, object_place p) {
    if (reference* r = find(id)) r->see(p);
  }
};

/// Handles in transit to one locality: sent, but not acknowledged by the receiver.
struct keepsakes {
  struct item {
    reference* ref = nullptr;
    std::uint64_t handles = 0;
  };
  plx::detail::spinlock lock;
  gid_map<item> items;
};

struct agas_tables {
  agas_tables(node& n, agas& owner, void (*deliver)(agas&, locality_id, letter&&))
      : ledger(n.here(), n.size()), out(n, deliver, owner), sent(n.size()) {}

  shard& of(const gid& id) { return shards[(hash_of(id) >> 56) % shards.size()]; }

  std::array<shard, 16> shards;
  loss_ledger ledger;
  outbox out;
  std::vector<keepsakes> sent;  // by receiver
};

}  // namespace plx::net::detail

namespace plx::net {

// Calls between the agas services of different localities.
//
// Thread safety: actions. Cost: docs/net.md. Example: net/agas/test/component_test.cpp

namespace detail {

void agas_letter(sender from, letter l);
bool agas_entered(sender owner, gid id, locality_id holder, std::uint64_t stamp);
bool agas_moved(sender to, gid id, std::uint32_t moves);
bool agas_take_back(sender owner, gid id, std::uint32_t moves);
void agas_settle_asked(sender asker, locality_id lost);
void agas_settled(sender who, locality_id lost);

std::vector<probe::registration> add_agas_counters(node& n, const agas& a);

}  // namespace detail

// These take some locks and do not wait.
template <>
inline constexpr bool is_direct<&detail::agas_letter> = true;
template <>
inline constexpr bool is_direct<&detail::agas_entered> = true;
template <>
inline constexpr bool is_direct<&detail::agas_moved> = true;
template <>
inline constexpr bool is_direct<&detail::agas_take_back> = true;

}  // namespace plx::net
