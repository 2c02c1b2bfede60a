// All counters in Prometheus' text format (version 0.0.4), for monitoring systems that scrape /metrics.
//
// "/threads{locality#0/worker-thread#1}/time/exec" in s is
// plx_threads_time_exec_seconds_total{locality="0",worker="1"}: what only grows is a counter and ends in _total, all
// else is a gauge; s is _seconds, bytes is _bytes, % is _percent. Where a counter exists of single workers, its total
// is left out: sum() makes it, and would count it twice. Thread safety: as the registry's. Cost: a query of all
// counters. Example: probe/live/test/metrics_text_test.cpp
#pragma once

#include <string>

#include "probe/counters/counter_registry.hpp"

namespace plx::probe {

/// Counters in the text format of Prometheus.
std::string metrics_text(const counter_registry& counters);

}  // namespace plx::probe
