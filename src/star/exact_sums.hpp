// Exact sums as numbers that travel, so that sums over localities are exact, too.
//
// Thread safety: pure. Cost: some numbers per sum. Example: star/exchange_test.cpp
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "num/exact_sum.hpp"
#include "star/exchange.hpp"

namespace plx::star {

/// Appends sums: how many, and each of them. The numbers are bits, not values.
void append(std::span<const exact_sum> sums, std::vector<double>& to);
/// How many sums are written there.
std::size_t count_of_sums(std::span<const double> from);
/// Adds sums that are written there, one to each. Requires: as many.
void add(std::span<const double> from, std::span<exact_sum> sums);
/// The sums of all localities together. All call it, each in a task.
void sum_over_localities(exchange& net, std::span<exact_sum> sums);

}  // namespace plx::star
