// How rows of rotated vertices travel between localities, and the work of that; rotation_exchange.hpp sends them.
//
// Thread safety: plain values. Example: parquet/distribution/test/distributed_test.cpp
#pragma once

#include <cstdint>

#include "net/coalescing.hpp"

namespace plx::parquet {

/// The forms give the same bits. A row is what one transfer contributes to the values at another, for all k. In all
/// forms but the first, each row is a parcel; a setting of the user for them (PLX_COALESCE) comes before that of the
/// form.
enum class rotation_form {
  packed,     ///< many rows in each message, of some 512 KiB
  coalesced,  ///< parcels share messages: 128 parcels or 1000 us
  adaptive,   ///< parcels share messages; the policy `coalescing` chooses how (net/coalescing.hpp)
  rows,       ///< one message for each row
};

/// The setting of the parcels. The policy begins with messages of 64 KiB: rows have some KiB, of which the usual 8 KiB
/// hold few.
constexpr coalescing setting_of(rotation_form form) noexcept {
  if (form == rotation_form::coalesced) return {.parcels = 128, .interval_us = 1000};
  if (form == rotation_form::adaptive) return {.bytes = 65536, .way = coalescing_way::adaptive};
  return no_coalescing;
}

/// Work of the rotations of one iteration.
struct rotation_work {
  double seconds = 0;         ///< until Gamma is complete; products that began meanwhile included
  double sent_bytes = 0;      ///< to other localities, without headers
  std::int64_t parcels = 0;   ///< rows, or packed messages
  std::int64_t messages = 0;  ///< that carried them
  double overhead = 0;        ///< share of messages in the busy time of the workers (network_use.hpp); of the iteration
  coalescing how = self_clocking;  ///< of the rows, at the end; not for the packed form
};

}  // namespace plx::parquet
