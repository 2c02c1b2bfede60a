// Totals of the conserved variables over the domain, exact: the same bits for any order of blocks and any number of
// workers, and errors far below the last place, so that a drift of 1e-14 is the scheme's and not the sum's.
//
// Thread safety: call from a task, alone, on all localities: all get the totals of the whole domain. Cost: about 0.3 ns
// per value, in parallel over blocks. Example: star/stepper_test.cpp
#pragma once

#include <span>
#include <vector>

#include "num/exact_sum.hpp"
#include "star/gas.hpp"

namespace plx::star {

/// Integral of each conserved variable over the domain: [variable_count].
/// Errors of the sum: within a block Kahan's (some 1e-16 relative to the sum of magnitudes), between blocks none.
std::vector<double> totals(const gas& g, unsigned workers);
/// The same of some blocks, exactly, on top of what is in `sums`. One task at a time.
void add_totals(const gas& g, std::span<const mesh::slot_id> blocks, unsigned workers, std::span<exact_sum> sums);

}  // namespace plx::star
