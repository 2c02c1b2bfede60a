// Coalescing: small parcels to the same locality share a message. The settings of a locality apply to everything that
// it sends, calls and replies alike; a program that wants them everywhere sets them on every locality. They can be
// changed while parcels are in flight.
//
//   plx::coalesce<&f>({.parcels = 128, .interval_us = 1000});  // parcels of the action f
//   plx::coalesce_all(plx::self_clocking);                     // all other actions; this is the default
//   plx::coalesce<&g>(plx::adaptive);                          // a policy chooses the parameters at run time
//
// PLX_COALESCE in the environment, --plx:coalesce=... and [plx] coalesce in the file of PLX_CONFIG take the same
// settings: "self", "off", "adaptive", "128,1000", "128,1000,65536" for all, "f=128,1000; g=self" for actions;
// "128,1000,strict" always waits for its interval. "off" sends each parcel in its own message.
// Thread safety: everything. Cost: none while settings do not change; of adaptive:
// net/parcels/adaptive/adaptive_coalescing.hpp.
// Example: net/parcels/test/coalescing_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace plx {

/// When messages are sent.
enum class coalescing_way : std::uint8_t {
  /// Immediately if no message to that locality is in flight; otherwise when the message is full, or as soon as the
  /// sending worker has no other work.
  self_clocking,
  /// When it holds `parcels` parcels or `bytes` bytes, or `interval_us` after its first parcel, or, unless `strict` is
  /// set, as soon as the worker that sent last is idle. A parcel that follows its predecessor by more than the interval
  /// is sent immediately.
  fixed,
  /// One of these two, with parameters that a policy chooses from the observed traffic
  /// (net/parcels/adaptive/adaptive_coalescing.hpp).
  adaptive,
};

/// The parameters of coalescing.
struct coalescing {
  unsigned parcels = 128;     ///< per message; 1: each is sent immediately
  double interval_us = 1000;  ///< from the first parcel, microseconds
  std::size_t bytes = 0;      ///< per message; 0: the maximum (fixed), 8 KiB (others); adaptive begins with it
  coalescing_way way = coalescing_way::fixed;
  bool strict = false;  ///< waits for the full interval even if the worker is idle (fixed)
  friend bool operator==(const coalescing&, const coalescing&) = default;
};

/// No parameters: a message waits only while another one is in flight.
inline constexpr coalescing self_clocking{.way = coalescing_way::self_clocking};
/// Each parcel is sent immediately in its own message.
inline constexpr coalescing no_coalescing{.parcels = 1, .interval_us = 0};
/// The runtime's policy `coalescing` chooses, and logs each choice. In deterministic mode it is self-clocking.
inline constexpr coalescing adaptive{.way = coalescing_way::adaptive};

/// Sets the coalescing of all actions without a setting of their own. Requires: a plx::job.
void coalesce_all(const coalescing& how);
/// Sends all collected parcels immediately; call it before a long computation.
void flush_parcels();

namespace net {
struct action_entry;
namespace detail {
void coalesce_action(const action_entry& e, const coalescing& how);
template <auto F>
const action_entry& entry_of();  // net/action.hpp
}  // namespace detail
}  // namespace net

/// Sets the coalescing of the action F. Requires: a plx::job.
template <auto F>
void coalesce(const coalescing& how) {
  net::detail::coalesce_action(net::detail::entry_of<F>(), how);
}

}  // namespace plx
