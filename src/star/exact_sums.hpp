// Serialization of exact sums, so that sums over localities are exact too.
//
// Thread safety: pure. Cost: a few numbers per sum. Example: star/exchange_test.cpp
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "num/exact_sum.hpp"
#include "step/exchange.hpp"

namespace plx::star {

/// Appends the number of sums and each of them. The numbers are bit patterns, not values.
void append(std::span<const exact_sum> sums, std::vector<double>& to);
/// The number of sums in `from`.
std::size_t count_of_sums(std::span<const double> from);
/// Adds the sums in `from` to `sums`, one to each. Requires: equal numbers of sums.
void add(std::span<const double> from, std::span<exact_sum> sums);
/// Replaces each sum by its total over all localities. All localities call it, each in a task.
void sum_over_localities(step::exchange& net, std::span<exact_sum> sums);

}  // namespace plx::star
