// Converts the workers' records into trace_data.
#include "probe/record/trace_data.hpp"

#include <algorithm>
#include <cmath>

#include "probe/record/recorder_detail.hpp"
#include "probe/record/trace_ring.hpp"
#include "probe/record/wait_log.hpp"

namespace plx::probe {
namespace {

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
    if ((r.flags & detail::is_packed) != 0) {
      const detail::unpacked_slice u = detail::unpack_slice(r, first);
      slices.push_back(u.slice);
      if (u.cause != 0) edges.push_back({.from = u.cause, .to = u.slice.id, .when = u.slice.ready});
      attribute_locks();
    } else if ((r.flags & trace_record::is_edge) != 0) {
      edges.push_back({.from = r.begin, .to = r.end, .when = r.key});
      edge = edges.back();
    } else if ((r.flags & trace_record::is_more) != 0) {
      if (static_cast<name_id>(edge.from) != r.name) return;  // the record before was lost, and is counted
      detail::packed_targets targets{r.begin, r.end, r.key};
      const std::size_t before = edges.size();
      while (const task_id to = detail::take_target(targets, first))
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

/// Capacity for everything that take() may append: growth would hold the trace twice, while unused capacity costs
/// nothing.
struct trace_size {
  std::size_t slices = 0, edges = 0, locks = 0, placements = 0;
  void count(const trace_record& r) {
    if ((r.flags & detail::is_packed) != 0)
      ++slices, ++edges;  // most slices have a cause
    else if ((r.flags & trace_record::is_edge) != 0)
      ++edges;
    else if ((r.flags & trace_record::is_more) != 0)
      edges += detail::most_targets;
    else if ((r.flags & trace_record::is_link) != 0)
      ++edges;
    else if ((r.flags & trace_record::is_lock) != 0)
      ++locks;
    else if ((r.flags & trace_record::is_placement) != 0)
      ++placements;
    else
      ++slices;
  }
};

}  // namespace

void recorder::trace_counter(std::string_view name, double value) {
  if (!std::isfinite(value)) return;  // JSON cannot represent it
  const ticks now = now_ticks();
  const std::lock_guard lock(state_->mutex);
  if (!state_->tracing_locked()) return;
  if (state_->samples.size() == state::max_noted) return void(++state_->dropped);
  state_->samples.push_back({now, std::string(name), value});
}

void recorder::mark(std::string_view category, std::string_view text) {
  const ticks now = now_ticks();
  const std::lock_guard lock(state_->mutex);
  if (!state_->tracing_locked()) return;
  if (state_->marks.size() == state::max_noted) return void(++state_->dropped);
  state_->marks.push_back({now, std::string(category), std::string(text)});
}

void recorder::forget_trace() {
  const std::lock_guard lock(state_->mutex);
  state_->drain_locked();
  for (const auto& w : state_->workers) w->kept.clear();
  state_->kept = 0;
  state_->samples.clear();
  state_->marks.clear();
  state_->lanes.forget();
}

trace_data recorder::collect_trace() {
  const std::lock_guard lock(state_->mutex);
  state_->drain_locked();
  trace_data all;
  all.origin = state_->origin;
  all.worker_names = state_->worker_names;
  all.samples = state_->samples;
  all.marks = state_->marks;
  all.records = state_->kept;
  all.lost = state_->lost_locked();
  all.over_limit = state_->over_limit;
  all.share = state_->share;
  std::vector<std::size_t> slices;
  trace_size size;
  for (const auto& w : state_->workers) {
    size.slices = 0;
    for (const auto& piece : w->kept)
      for (const trace_record& r : piece) size.count(r);
    slices.push_back(size.slices);
  }
  all.edges.reserve(size.edges);
  all.locks.reserve(size.locks);
  all.placements.reserve(size.placements);
  for (const auto& w : state_->workers) {
    slice_reader reader{all.workers.emplace_back(), all, detail::first_id_of(w->log.index(), state_->space)};
    reader.slices.reserve(slices[all.workers.size() - 1]);
    for (const auto& piece : w->kept)
      for (const trace_record& r : piece) reader.take(r);
    reader.end();
  }
  for (trace_lock& l : all.locks)
    if (l.name == unnamed) l.name = object_name(reinterpret_cast<const void*>(l.object));
  state_->lanes.collect(all);
  return all;
}

}  // namespace plx::probe
