// The share of messages in the time of this locality, and how its parcels are collected now.
//
// Thread safety: none. Cost: microseconds. Example: parquet/distribution/test/distributed_test.cpp
#pragma once

#include <cstdint>

#include "net/coalescing.hpp"
#include "net/parcels/network_time.hpp"

namespace plx::parquet {

/// The value of the counter /network/overhead (net/parcels/network_time.hpp) since this object was made. The counter
/// itself is not reset: others may read it.
class network_share {
 public:
  /// Requires: a plx::job.
  network_share();
  /// 0 to 1; 0 if no task has run.
  double value() const;

 private:
  net::network_time begin_;
};

/// The setting of an action in effect on this locality: self_clocking or fixed numbers; if it is adaptive, those that
/// the policy has chosen. Requires: a plx::job.
coalescing coalescing_of(std::uint16_t action);
/// Whether the user has set how parcels of this action are collected, or those of all actions (PLX_COALESCE,
/// --plx:coalesce). Requires: a plx::job.
bool user_coalesces(std::uint16_t action);

}  // namespace plx::parquet
