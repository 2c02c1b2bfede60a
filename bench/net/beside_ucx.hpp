// A separate UCX connection between both localities, for comparison: the root runs a measurement and asks the other
// locality to run its counterpart.
#pragma once

#include <cstddef>
#include <memory>

#include "raw_ucx.hpp"

namespace plx::bench {

class beside_ucx {
 public:
  /// Called by the root, in a task. Without UCX, here() is false and a line reports why.
  beside_ucx();
  ~beside_ucx();
  [[nodiscard]] bool here() const { return mine_ != nullptr; }
  /// Round trip time, us.
  double round_trip_us(int n);
  /// One-way messages, bytes per second; to one buffer or to several in turn.
  double bytes_per_s(int n, std::size_t bytes, std::size_t places = 1);

 private:
  std::unique_ptr<raw_ucx> mine_;
};

}  // namespace plx::bench
