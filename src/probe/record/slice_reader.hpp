// Internal: makes slices, edges, locks and placements from the records of a worker. For trace_data.cpp, which reads the
// recorder's memory, and trace/file/load_trace.cpp, which reads files.
//
// Thread safety: none. Cost: some nanoseconds per record. Example: probe/record/test/trace_data_test.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "probe/record/trace_data.hpp"
#include "probe/record/trace_ring.hpp"

namespace plx::probe::detail {

/// Reassembles a worker's records: a link belongs to the slice after it.
struct slice_reader {
  std::vector<trace_slice>& slices;
  trace_data& all;
  const task_id first;  // the base of the worker's ids
  std::vector<trace_edge>& edges = all.edges;
  std::size_t first_lock = all.locks.size();  // of those whose slice has not been read
  trace_record link{};
  trace_edge edge{};

  void take(const trace_record& r) {
    if ((r.flags & is_packed) != 0) {
      const unpacked_slice u = unpack_slice(r, first);
      slices.push_back(u.slice);
      if (u.cause != 0) edges.push_back({.from = u.cause, .to = u.slice.id, .when = u.slice.ready});
      attribute_locks();
    } else if ((r.flags & trace_record::is_edge) != 0) {
      edges.push_back({.from = r.begin, .to = r.end, .when = r.key});
      edge = edges.back();
    } else if ((r.flags & trace_record::is_more) != 0) {
      if (static_cast<name_id>(edge.from) != r.name) return;  // the record before was lost, and is counted
      packed_targets targets{r.begin, r.end, r.key};
      const std::size_t before = edges.size();
      while (const task_id to = take_target(targets, first))
        edges.push_back({.from = edge.from, .to = to, .when = edge.when});
      std::reverse(edges.begin() + static_cast<std::ptrdiff_t>(before), edges.end());
    } else if ((r.flags & trace_record::is_link) != 0) {
      link = r;
    } else if ((r.flags & trace_record::is_lock) != 0) {
      all.locks.push_back({.taken = r.begin,
                           .released = r.end,
                           .object = r.key,
                           .name = r.name,
                           .waits = r.flags >> trace_record::every_shift});
    } else if ((r.flags & trace_record::is_placement) != 0) {
      all.placements.push_back({.task = r.begin,
                                .worker = static_cast<std::uint32_t>(r.end),
                                .priority = static_cast<std::uint32_t>(r.end >> 32)});
    } else {
      slices.push_back({.begin = r.begin,
                        .end = r.end,
                        .key = r.key,
                        .id = link.begin,
                        .ready = std::min<ticks>(link.key, r.begin),
                        .name = r.name,
                        .finished = (r.flags & trace_record::finished) != 0,
                        .resumed = (r.flags & trace_record::resumed) != 0,
                        .every = static_cast<std::uint16_t>(std::max(r.flags >> trace_record::every_shift, 1u))});
      if (link.end != 0) edges.push_back({.from = link.end, .to = link.begin, .when = slices.back().ready});
      link = {};
      attribute_locks();
    }
  }

  /// The slice just read released the locks before it. If it was lost, they belong to no later one.
  void attribute_locks() {
    const trace_slice& s = slices.back();
    std::size_t kept = first_lock;
    for (std::size_t i = first_lock; i < all.locks.size(); ++i) {
      trace_lock l = all.locks[i];
      if (s.id == 0 || l.released < s.begin || l.taken > s.end) continue;
      l.task = s.id;
      l.released = std::min(l.released, s.end);
      all.locks[kept++] = l;
    }
    all.locks.resize(kept);
    first_lock = kept;
  }
  /// Locks that were released in a slice that has not ended yet are unknown.
  void end() { all.locks.resize(first_lock); }
};

}  // namespace plx::probe::detail
