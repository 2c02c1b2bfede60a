// Totals of the conserved variables over the domain, exact: the same bits for any order of blocks and any number of
// workers, with errors far below the last digit, so that a drift of 1e-14 is that of the scheme and not of the sum.
//
// Thread safety: call from a task on all localities, exclusively: all get the totals of the whole domain. Cost: about
// 0.3 ns per value, in parallel over blocks. Example: star/runners/test/stepper_test.cpp
#pragma once

#include <vector>

#include "star/state/gas.hpp"

namespace plx::star {

/// Integral of each conserved variable over the domain: [variable_count]. In place of the spin, the angular momentum
/// about the origin, spin included.
/// Errors of the sum: within a block those of Kahan summation (about 1e-16 relative to the sum of magnitudes), between
/// blocks none.
std::vector<double> totals(const gas& g, unsigned workers);

}  // namespace plx::star
