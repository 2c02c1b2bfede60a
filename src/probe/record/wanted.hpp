// The needs of this process' recorders, in one word that every task and lock reads.
//
// Thread safety: atomic, relaxed: it orders nothing. Cost: a load. Example: rt/measure/test/origin_test.cpp
#pragma once

#include <atomic>

namespace plx::probe {

/// The number of recorders that need task dependencies (ids and edges), plus 65536 times the number with an observer.
inline std::atomic<unsigned> wanted{0};
/// The amount that a recorder adds to `wanted` for edges.
inline constexpr unsigned wants_edges = 1;
/// The amount that a recorder with an observer adds.
inline constexpr unsigned wants_events = 1u << 16;

}  // namespace plx::probe
