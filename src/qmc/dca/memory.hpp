// The memory that a run of plx-dca needs, beside the memory that its machine has.
//
// Thread safety: pure, but for reading what is available. Cost: none. Example: qmc/dca/test/memory_test.cpp
#pragma once

#include "base/result.hpp"

namespace plx::qmc {

struct dca_options;

/// The largest mean expansion order of the temperatures: K + beta U Nc (n / 2 - D) without any double occupancy D that
/// the density does not require. Requires: o.check() succeeds.
double largest_order(const dca_options& o);

/// An estimate of the bytes that a run takes at most: the walkers with their measurements at the largest order, all
/// bins and their jackknife, a checkpoint. Requires: o.check() succeeds.
double memory_bytes(const dca_options& o);

/// Error: one line: the machine has less memory available, or the process may not take the address space with that many
/// workers.
result<void> check_memory(const dca_options& o, unsigned workers);

}  // namespace plx::qmc
