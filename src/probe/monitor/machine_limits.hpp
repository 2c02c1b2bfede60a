// The limits of a roofline, measured: the rate of multiply-adds of doubles, and the bandwidth of memory, of as many
// threads as a run has workers.
//
// Thread safety: any thread, while the workers are idle or have ended. Cost: half a second of
// all cores, longer on busy ones, and array_bytes of memory meanwhile.
// Example: probe/monitor/test/machine_limits_test.cpp
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace plx::probe {

struct machine_limits {
  unsigned threads = 0;
  unsigned vector_bits = 0;     // of the multiply-adds: the widest of the processor
  double flops_per_s = 0;       // a multiply-add is two
  double bytes_per_s = 0;       // of a[i] += s b[i] in memory: 24 bytes each, all that really moves
  std::size_t array_bytes = 0;  // of both arrays, all threads
  std::size_t cache_bytes = 0;  // of the last level; 0: unknown. Smaller arrays than twice that are partly in caches
};

/// The best of several rounds of each, of `threads` threads that run at the same time. `memory_bytes`: of the arrays;
/// 0: limit_array_bytes().
/// Requires: threads > 0. Errors: no thread can be started, or less than twice that memory is available.
result<machine_limits> measure_machine_limits(unsigned threads, std::size_t memory_bytes = 0);

/// All caches of the third level, each once however many processors share it, from the files below `sys` (/sys); 0
/// without one, or if they change meanwhile.
std::size_t third_level_bytes(const std::string& sys);
/// Four times the caches, from 64 MiB to 512 MiB (or twice the caches, if that is more), and half of the available
/// memory at most; but never below 64 MiB.
std::size_t limit_array_bytes(std::size_t cache_bytes, double available_bytes);

}  // namespace plx::probe
