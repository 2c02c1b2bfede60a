// Results of several numbers of frequencies, extrapolated to all of them.
//
// The error of the self-energy and of susceptibilities falls as 1 / frequencies^2 or faster
// (parquet/solver/test/solver_test.cpp). Thread safety: pure. Example: parquet/run/test/extrapolation_test.cpp
#pragma once

#include <span>

#include "num/statistics.hpp"

namespace plx::parquet {

/// The limit a of a + b / n^2 through the last two values; its error is the distance from the limit of the two before,
/// or from the last value if there are but two. One value: itself, with an infinite error.
/// Shapes: n and values [runs]. Requires: n ascending, at least one.
estimate extrapolated(std::span<const int> n, std::span<const double> values);

}  // namespace plx::parquet
