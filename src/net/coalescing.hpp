// How small parcels to one locality become messages. What is set here holds for what this locality sends, calls and
// answers alike; a program that wants it everywhere sets it everywhere. It can be changed while parcels travel.
//
//   plx::coalesce<&f>({.parcels = 128, .interval_us = 1000});  // parcels of the action f
//   plx::coalesce_all(plx::self_clocking);                     // of all others: this is so from the start
//   plx::coalesce<&g>(plx::adaptive);                          // what is best for them is found while they travel
//
// PLX_COALESCE in the environment, --plx:coalesce=... and [plx] coalesce in the file of PLX_CONFIG say the same:
// "self", "off", "adaptive", "128,1000", "128,1000,65536" for all, "f=128,1000; g=self" for actions; "128,1000,strict"
// waits for its interval in any case. "off" sends each parcel in a message of its own.
// Thread safety: everything. Cost: none while nothing changes; of adaptive: net/adaptive/adaptive_coalescing.hpp.
// Example: net/parcels/test/coalescing_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace plx {

/// What makes a message leave.
enum class coalescing_way : std::uint8_t {
  /// At once while nothing is under way to that locality; else when it is full, or as soon as the worker that sent has
  /// nothing better to do.
  self_clocking,
  /// When it holds `parcels` parcels or `bytes` bytes, or `interval_us` after its first parcel, or, unless it is
  /// `strict`, as soon as who sent last has nothing else to do. A parcel that comes later than the interval after the
  /// one before goes at once.
  fixed,
  /// One of the two, with the numbers that a policy chooses by the traffic it sees
  /// (net/adaptive/adaptive_coalescing.hpp).
  adaptive,
};

/// When a message leaves.
struct coalescing {
  unsigned parcels = 128;     ///< in one message; 1: each goes at once
  double interval_us = 1000;  ///< after the first parcel, microseconds
  std::size_t bytes = 0;      ///< of one message; 0: as many as one may have (fixed), 8 KiB (self_clocking)
  coalescing_way way = coalescing_way::fixed;
  bool strict = false;  ///< keeps what has collected for the interval although its worker idles (fixed)
  friend bool operator==(const coalescing&, const coalescing&) = default;
};

/// No parameters: the traffic itself says when to wait.
inline constexpr coalescing self_clocking{.way = coalescing_way::self_clocking};
/// Each parcel is a message of its own, and leaves at once.
inline constexpr coalescing no_coalescing{.parcels = 1, .interval_us = 0};
/// The policy `coalescing` of the runtime chooses, and logs each choice. In the deterministic mode it is self-clocking.
inline constexpr coalescing adaptive{.way = coalescing_way::adaptive};

/// How the parcels of all actions collect for which nothing else was said. Requires: a plx::job.
void coalesce_all(const coalescing& how);
/// Sends what has collected and waits for more, at once: before a long computation.
void flush_parcels();

namespace net {
struct action_entry;
namespace detail {
void coalesce_action(const action_entry& e, const coalescing& how);
template <auto F>
const action_entry& entry_of();  // net/action.hpp
}  // namespace detail
}  // namespace net

/// How the parcels of the action F collect. Requires: a plx::job.
template <auto F>
void coalesce(const coalescing& how) {
  net::detail::coalesce_action(net::detail::entry_of<F>(), how);
}

}  // namespace plx
