// For tests of scale: one platform for all of them, since SimGrid allows one engine per process.
#pragma once

#include <unistd.h>

#include <fstream>
#include <string>

#include "replay.hpp"

namespace plx::scale::test {

/// From host to host: two links of 1 us each, a path of 1 GB/s.
inline constexpr double latency_s = 2e-6;
inline constexpr int slow_host = 64;  ///< a quarter of the reference speed
inline constexpr int wide_host = 65;  ///< 400 cores; all others have 4

inline platform& shared() {
  static platform p = [] {
    const std::string path = "/tmp/plx_scale_test." + std::to_string(getpid()) + ".xml";
    std::ofstream(path) << R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <cluster id="c" prefix="h-" radical="0-63" suffix="" speed="1Gf" core="4" bw="1GBps" lat="1us"/>
    <zone id="slow" routing="None"><host id="x-000" speed="250Mf" core="4"/></zone>
    <zone id="wide" routing="None"><host id="x-0001" speed="1Gf" core="400"/></zone>
  </zone>
</platform>
)";
    auto loaded = platform::load(path);
    unlink(path.c_str());
    return *std::move(loaded);
  }();
  return p;
}

/// `shift` is added to the index of every locality, and so selects hosts.

inline replayed replay(work_graph& g, const layout& where = {}, const costs& c = {}, int shift = 0) {
  for (node_id n = 0; shift > 0 && n < g.size(); ++n) g.at(n).where += shift;
  g.finish();
  return *shared().run(g, where, c);
}

}  // namespace plx::scale::test
