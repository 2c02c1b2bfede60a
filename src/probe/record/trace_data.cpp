// Converts the workers' records into trace_data.
#include "probe/record/trace_data.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/process.hpp"
#include "probe/record/recorder_detail.hpp"
#include "probe/record/slice_reader.hpp"
#include "probe/record/wait_log.hpp"

namespace plx::probe {
namespace {

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

void recorder::state::drain_to_sink(bool last) {
  constexpr unsigned flush_every = 25;
  trace_sink& to = *sink;
  std::vector<trace_sample> new_samples;
  std::vector<trace_mark> new_marks;
  trace_totals total;
  std::vector<std::pair<unsigned, std::string>> renamed;
  {
    const std::lock_guard lock(mutex);
    new_samples.swap(samples);
    new_marks.swap(marks);
    for (unsigned i = 0, n = workers.size(); i < n; ++i) {
      const std::string name = i < worker_names.size() ? worker_names[i] : std::string();
      if (i < names_passed.size() && names_passed[i] == name) continue;
      if (i >= names_passed.size()) names_passed.emplace_back();
      renamed.emplace_back(i, names_passed[i] = name);
    }
    total.share = share;
  }
  for (const auto& [row, name] : renamed) to.row(row, name, 0);
  for (unsigned i = 0, n = workers.size(); i < n; ++i) {
    trace_ring* const ring = workers[i]->log.ring();
    if (ring == nullptr) continue;
    const std::size_t drained =
        ring->drain_spans([&](std::span<const trace_record> records) { to.records(i, records); });
    streamed.fetch_add(drained, std::memory_order_relaxed);
  }
  streamed.fetch_add(lanes.drain(to, last || ++rounds % flush_every == 0, lanes_named), std::memory_order_relaxed);
  for (const trace_sample& s : new_samples) to.sample(s);
  for (const trace_mark& m : new_marks) to.mark(m);
  std::erase_if(sources, [&](const auto& weak) {
    const auto source = weak.lock();
    if (source != nullptr) source->drain(to);
    return source == nullptr;
  });
  to.drained();
  {
    const std::lock_guard lock(mutex);
    total.lost = lost_locked() - lost_before;
  }
  total.records = streamed.load(std::memory_order_relaxed) - streamed_before;
  total.ended = last;
  to.totals(total);
}

void recorder::stream_to(trace_sink* sink, unsigned locality, unsigned localities) {
  state& s = *state_;
  {
    const std::lock_guard use(s.use_mutex);
    s.take_back();
    const std::lock_guard lock(s.mutex);
    if (sink != nullptr) s.sink_in_use = true, s.memory_in_use = s.memory_in_use && s.kept != 0;
  }
  {
    const std::lock_guard draining(s.drain_mutex);
    if (s.sink != nullptr) s.drain_to_sink(true);
    s.sink = sink;
    if (sink != nullptr) return s.begin_sink(locality, localities);
  }
  const std::lock_guard use(s.use_mutex);
  const std::lock_guard lock(s.mutex);
  s.sink_in_use = false;
  if (s.tracing_locked()) s.memory_in_use = true;
}

namespace {
/// In seconds since 1970. Both clocks are read together as closely as in the best of some attempts.
double time_of_day_at(ticks origin) {
  double best = 0;
  ticks least = ~ticks{0};
  for (int i = 0; i < 8; ++i) {
    const ticks before = now_ticks();
    const double now_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const ticks after = now_ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = now_s - seconds(before + least / 2 - origin);
  }
  return best;
}
}  // namespace

void recorder::state::begin_sink(unsigned locality, unsigned localities) {
  {
    const std::lock_guard lock(mutex);
    lost_before = lost_locked();
  }
  streamed_before = streamed.load(std::memory_order_relaxed);
  names_passed.clear();
  lanes_named.clear();
  sink->begin({.origin = origin,
               .ticks_per_second = ticks_per_second(),
               .unix_s = time_of_day_at(origin),
               .locality = locality,
               .localities = localities,
               .space = space,
               .process = static_cast<std::uint32_t>(::getpid()),
               .host = host_name()});
}

void recorder::add_source(std::weak_ptr<trace_source> source) {
  const std::lock_guard draining(state_->drain_mutex);
  state_->sources.push_back(std::move(source));
}

void recorder::forget_trace() {
  const std::lock_guard use(state_->use_mutex);
  state_->take_back();
  state_->forget();
  const std::lock_guard lock(state_->mutex);
  state_->memory_in_use = !state_->sink_in_use && state_->tracing_locked();
}

void recorder::state::forget() {
  const std::lock_guard draining(drain_mutex);
  const std::lock_guard lock(mutex);
  drain_locked();
  for (const auto& w : workers) w->kept.clear();
  kept = 0;
  samples.clear();
  marks.clear();
  lanes.forget();
}

trace_data recorder::collect_trace() {
  {
    const std::lock_guard use(state_->use_mutex);
    state_->take_back();
  }
  const std::lock_guard draining(state_->drain_mutex);
  const std::lock_guard lock(state_->mutex);
  if (!state_->lent) state_->drain_locked();
  trace_data all;
  all.origin = state_->origin;
  all.worker_names = state_->worker_names;
  all.samples = state_->samples;
  all.marks = state_->marks;
  all.records = state_->kept;
  all.lost = state_->lost_locked() - state_->lost_lent;
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
    detail::slice_reader reader{all.workers.emplace_back(), all, detail::first_id_of(w->log.index(), state_->space)};
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
