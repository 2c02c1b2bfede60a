// The routes of internal messages between the localities of a job: neighbours, a tree, and rounds over that tree.
//
// Notices that all localities must receive, whichever of them die, go between neighbours: each forwards them once.
//
// Rounds over the living localities: a request goes down a binomial tree, and the replies up it, combined on the way.
//
// The tree is made of the ranks of the localities without a list of lost ones; the root is the first of them. The root
// numbers the rounds and sends the list with each request: so all localities use the same tree in a round, whichever
// losses they know. After a further loss the root begins another round. A reply names its round, so one that belongs
// to an earlier tree is recognized. A round may also be repeated without a request, by an event that all localities
// see, such as its result: its number stays, since localities that see the event must not drop the next request of a
// root that does not.
//
// Invariant: numbers only increase, also when the root is lost, since the next root is a later locality.
//
// Thread safety: none. Cost of a round: one request and one reply per locality, at most log2(n) of each at the root,
// and log2(n) hops each way. Example: net/core/test/tree_round_test.cpp
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "net/bitwise.hpp"
#include "net/core/failure.hpp"
#include "net/locality.hpp"

namespace plx::net {

class node;

/// The localities whose numbers differ from `here` by a power of two, modulo `size`, ascending: at most 2 log2(size).
/// Two localities are at most half of log2(size) hops apart, rounded up.
std::vector<locality_id> power_of_two_neighbours(locality_id here, unsigned size);

struct round_number {
  std::uint64_t root = 0;   ///< the locality that has begun the round
  std::uint64_t count = 0;  ///< of its rounds
  friend auto operator<=>(const round_number&, const round_number&) = default;
};

/// The binomial tree of the localities that are not lost. The subtree of rank r are the ranks from r on whose number is
/// r in the bits down to its lowest one: neighbouring ranks, which often share a host.
class living_tree {
 public:
  /// Requires: `lost` ascending, each below `localities`, not all of them.
  explicit living_tree(unsigned localities, std::vector<locality_id> lost = {});

  [[nodiscard]] const std::vector<locality_id>& lost() const noexcept { return lost_; }
  [[nodiscard]] bool has(locality_id l) const noexcept;
  [[nodiscard]] locality_id root() const noexcept { return at(0); }
  /// no_locality for the root. Requires: has(l).
  [[nodiscard]] locality_id parent_of(locality_id l) const noexcept;
  /// At most log2(n), those with the largest subtrees first. Requires: has(l).
  [[nodiscard]] std::vector<locality_id> children_of(locality_id l) const;

  /// Whether a list that another locality has sent can be `lost` of the constructor.
  static bool sound(std::span<const locality_id> lost, unsigned localities) noexcept;

 private:
  [[nodiscard]] locality_id at(unsigned rank) const noexcept;
  [[nodiscard]] unsigned rank_of(locality_id l) const noexcept;

  unsigned ranks_;
  unsigned localities_;
  std::vector<locality_id> lost_;
};

/// One locality's part of the current round.
class tree_round {
 public:
  /// The first round, which begins without a request: no locality is lost.
  tree_round(locality_id here, unsigned localities);

  /// Requires: n > number(), and here is in the tree.
  void begin(round_number n, const living_tree& t);
  /// All children reply once more. The number stays, so the caller distinguishes the replies.
  void repeat();
  /// The reply of a child has arrived. False if it belongs to another round, or is not expected.
  bool take_reply(round_number n, locality_id from) noexcept;
  /// Whether all children have replied.
  [[nodiscard]] bool complete() const noexcept { return waiting_.empty(); }

  [[nodiscard]] round_number number() const noexcept { return number_; }
  [[nodiscard]] const std::vector<locality_id>& lost() const noexcept { return lost_; }
  [[nodiscard]] locality_id parent() const noexcept { return parent_; }  ///< no_locality on the root
  [[nodiscard]] const std::vector<locality_id>& children() const noexcept { return children_; }

 private:
  locality_id here_;
  round_number number_;
  std::vector<locality_id> lost_;
  locality_id parent_ = no_locality;
  std::vector<locality_id> children_, waiting_;  // waiting_: those that have not replied
};

/// The localities that `n` knows to be lost, ascending. Cost: O(localities).
std::vector<locality_id> lost_localities(const node& n);

/// Lost localities, ascending, and the reasons: part of a request.
using named_losses = std::vector<std::pair<locality_id, loss_cause>>;
named_losses name_losses(const node& n, const std::vector<locality_id>& lost);
/// The tree of a request for the round `r` that has arrived from `from`; nothing if another locality must have sent it.
std::optional<living_tree> tree_of_request(const node& n, locality_id from, round_number r, const named_losses& lost);

}  // namespace plx::net

template <>
inline constexpr bool plx::is_bitwise<plx::net::round_number> = true;
