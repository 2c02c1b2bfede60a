// The limits of a roofline, measured: the rate of multiply-adds of doubles, and the bandwidth of memory, of as many
// threads as a run has workers.
//
// Thread safety: any thread, while the workers are idle or have ended. Cost: half a second to a second
// of all cores, and array_bytes of memory meanwhile. Example: probe/monitor/test/machine_limits_test.cpp
#pragma once

#include <cstddef>

#include "base/result.hpp"

namespace plx::probe {

struct machine_limits {
  unsigned threads = 0;
  unsigned vector_bits = 0;     // of the multiply-adds: the widest of the processor
  double flops_per_s = 0;       // a multiply-add is two
  double bytes_per_s = 0;       // of a[i] += s b[i] in memory: 24 bytes each, all that really moves
  std::size_t array_bytes = 0;  // of both arrays, all threads
};

/// The best of several rounds of each, of `threads` threads that run at the same time. `memory_bytes`: of the arrays;
/// 0: four times the caches, as far as memory is free.
/// Requires: threads > 0. Errors: no thread can be started, or too little memory is free.
result<machine_limits> measure_machine_limits(unsigned threads, std::size_t memory_bytes = 0);

}  // namespace plx::probe
