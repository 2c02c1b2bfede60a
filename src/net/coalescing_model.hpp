// What messages cost a stream of small parcels, by a model: which numbers of the fixed form would suit it.
//
// A message costs its locality a time M that does not depend on what is in it; what a parcel costs by itself is the
// same in every message. With b parcels per message and a time g of the workers from one parcel to the next, without
// what messages cost, these take the share (M / b) / (g + M / b) of the workers' time. Of a fixed form (n, interval)
// the model says b from how long after each other parcels came: gaps longer than the interval end a run, the first
// parcel of a run goes alone, and the others leave when n have come or the interval has passed. Thread safety: none.
// Cost: microseconds. Example: net/coalescing_model_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "net/coalescing.hpp"

namespace plx::net {

/// The i-th counts the gaps between two parcels to the same locality of 2^(i-1) to 2^i - 1 ns; the first those of 0.
using gaps_by_length = std::array<double, 48>;

/// What the collectors of an action, or of all others, saw in a span of time.
struct traffic {
  double span_s = 0;
  unsigned workers = 1;
  double parcels = 0, messages = 0, bytes = 0;
  double slack = 0;            ///< share of the workers' time in which there was nothing to do
  double overhead = 0;         ///< share of the workers' time that the network took
  double message_s = 0;        ///< what a message costs; 0: not known
  std::size_t most_bytes = 0;  ///< the byte limit that held
  gaps_by_length gaps{};

  /// As one of both spans, one after the other.
  traffic& operator+=(const traffic& later) noexcept;
  /// Of the workers' time, from one parcel to the next, all included. Requires: parcels > 0.
  [[nodiscard]] double gap_s() const noexcept { return span_s * workers / parcels; }
  [[nodiscard]] double parcels_per_message() const noexcept { return messages > 0 ? parcels / messages : 1; }
  /// The share of the workers' time that messages would take with so many parcels in each.
  [[nodiscard]] double message_share(double parcels_each) const noexcept;
};

/// How many parcels a message of the fixed form would hold, by the gaps of this traffic. Requires: parcels >= 1.
double fixed_parcels_per_message(const traffic& t, unsigned parcels, double interval_s) noexcept;

/// The fixed form that costs least, to half a percent of the workers' time: of those the one that waits the shortest,
/// and of these the one with the least parcels. 2 to 1024 parcels, 16 us to 8.2 ms, at most 128 KiB in a message.
coalescing best_fixed(const traffic& t) noexcept;

}  // namespace plx::net
