// Counters derived from other counters, created on request by name.
//
//   /statistics{COUNTER}/average@MS        also stddev, median, min, max, rate (per second), count: of the values of
//                                          COUNTER read every MS milliseconds since the first request, or the reset
//   /statistics{COUNTER}/rolling_average@MS,N   also rolling_stddev, rolling_median, rolling_min, rolling_max: of the
//                                          last N values. Without @MS,N: every 1000 ms, the last 10.
//   /arithmetics/add@COUNTER,COUNTER,...   also subtract, multiply, divide (the first by all others), mean, variance,
//                                          median, min, max, count: of the present values
//
// COUNTER may be a pattern: /statistics then means one counter for each match, while /arithmetics uses all matches at
// the time of the first request as operands. In a list of counters, braces around an element keep its commas together:
//   /arithmetics/divide@{/statistics{/a/x}/rolling_max@100,5},/b/y
// A derived counter exists as long as the registry; there are at most 1000.
// Thread safety: all functions are thread-safe. Example: probe/counters/test/derived_counters_test.cpp
#pragma once

#include <vector>

#include "probe/counters/counter_registry.hpp"

namespace plx::probe {

/// The available derived counters: names as above, with units and descriptions.
std::vector<counter_info> derived_counter_kinds();

}  // namespace plx::probe
