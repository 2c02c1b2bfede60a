// A UCX of its own on both localities, for the root to compare with: what the root does there, the other one is asked
// to do the counterpart of.
#pragma once

#include <cstddef>
#include <memory>

#include "raw_ucx.hpp"

namespace plx::bench {

class beside_ucx {
 public:
  /// By the root, in a task. Without UCX, here() is false and a line says why.
  beside_ucx();
  ~beside_ucx();
  [[nodiscard]] bool here() const { return mine_ != nullptr; }
  /// There and back, us.
  double round_trip_us(int n);
  /// Messages one way, bytes a second; to one place of memory or several in turn.
  double bytes_per_s(int n, std::size_t bytes, std::size_t places = 1);

 private:
  std::unique_ptr<raw_ucx> mine_;
};

}  // namespace plx::bench
