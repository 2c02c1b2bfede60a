// Counters made of others, when somebody asks for them by name.
//
//   /statistics{COUNTER}/average@MS        also stddev, median, min, max, rate (per second), count: of the values of
//                                          COUNTER read every MS milliseconds since it was first asked for, or reset
//   /statistics{COUNTER}/rolling_average@MS,N   also rolling_stddev, rolling_median, rolling_min, rolling_max: of the
//                                          last N of them. Without @MS,N: every 1000 ms, the last 10.
//   /arithmetics/add@COUNTER,COUNTER,...   also subtract, multiply, divide (the first by all others), mean, variance,
//                                          median, min, max, count: of the values now
//
// COUNTER may be a pattern: /statistics then means one counter for each that matches, /arithmetics takes all as
// operands, those that match when it is first asked for. In a list of counters, braces around one keep its commas
// together:
//   /arithmetics/divide@{/statistics{/a/x}/rolling_max@100,5},/b/y
// A derived counter stays as long as the registry; there are at most 1000.
// Thread safety: functions: everything. Example: probe/counters/test/derived_counters_test.cpp
#pragma once

#include <vector>

#include "probe/counters/counter_registry.hpp"

namespace plx::probe {

/// What can be made, for people: names as above, with units and descriptions.
std::vector<counter_info> derived_counter_kinds();

}  // namespace plx::probe
