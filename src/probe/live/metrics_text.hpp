// All counters in Prometheus' text format (version 0.0.4), for monitoring systems that scrape /metrics.
//
// "/threads{locality#0/worker-thread#1}/time/exec" in s becomes
// plx_threads_time_exec_seconds_total{locality="0",worker="1"}: monotonic counters have the type counter and end in
// _total, all others are gauges; s becomes _seconds, bytes _bytes, % _percent. If a counter exists for individual
// workers, its total is left out, because sum() would count it twice.
//
// Thread safety: as the registry. Cost: a query of all counters. Example: probe/live/test/metrics_text_test.cpp
#pragma once

#include <string>

#include "probe/counters/counter_registry.hpp"

namespace plx::probe {

/// All counters in Prometheus' text format.
std::string metrics_text(const counter_registry& counters);

}  // namespace plx::probe
