// The tree of reductions, which depends on the number of members only, and the steps of its messages.
//
// Let p be the largest power of two with p <= n: the first 2 (n - p) ranks combine in pairs, then p places in a binary
// tree in which neighbouring blocks of 1, 2, 4, ... places combine. Thread safety: a value. Cost: none. Example:
// net/group/algorithms.cpp
#pragma once

#include <bit>
#include <cstdint>

namespace plx::net::collective {

struct tree {
  explicit tree(unsigned n) : places(std::bit_floor(n)), paired(2 * (n - places)) {}
  [[nodiscard]] unsigned place_of(unsigned rank) const { return rank < paired ? rank / 2 : rank - paired / 2; }
  /// The first rank of a place.
  [[nodiscard]] unsigned rank_at(unsigned place) const { return place < paired / 2 ? 2 * place : place + paired / 2; }
  unsigned places, paired;
};

/// Steps of algorithms; those of the loops over a tree begin at 0.
inline constexpr std::uint16_t pair_step = 1000, result_step = 1001, apart_step = 1002, ring_step = 2000;

/// How many payloads a rank sends to others before it receives as many: otherwise a late rank would keep a payload of
/// every other one, instead of those of some 4 sqrt(n).
inline constexpr unsigned most_unreceived = 8;

}  // namespace plx::net::collective
