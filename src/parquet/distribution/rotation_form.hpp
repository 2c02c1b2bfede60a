// How rows of rotated vertices travel between localities, and the work of that; rotation_exchange.hpp sends them.
//
// Thread safety: plain values. Example: parquet/distribution/test/distributed_test.cpp
#pragma once

#include <cstdint>

namespace plx::parquet {

/// The forms give the same bits. A row is what one transfer contributes to the values at another, for all k. In all
/// forms but the first, each row is a parcel.
enum class rotation_form {
  packed,     ///< many rows in each message, of some 512 KiB
  coalesced,  ///< parcels share messages: 128 parcels or 1000 us
  adaptive,   ///< parcels share messages; the policy `coalescing` chooses how (net/coalescing.hpp)
  rows,       ///< one message for each row
};

/// Work of the rotations of one iteration on this locality.
struct rotation_work {
  double seconds = 0;         // until Gamma is complete; products that began meanwhile included
  double sent_bytes = 0;      // to other localities, without headers
  std::int64_t messages = 0;  // packed: messages; otherwise parcels
};

}  // namespace plx::parquet
