#include "probe/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.hpp"
#include "probe/csv.hpp"
#include "probe/recorder_detail.hpp"

namespace plx::probe {
namespace {

/// One name's cells, summed over workers. Sums are modulo 2^64: see open_time in worker_log.hpp.
struct cell_sum {
  std::uint64_t calls = 0, time = 0, shortest = ~0ull, longest = 0, open_time = 0, open_pieces = 0;
  double squares = 0;

  void add(const detail::name_cell& c) {
    calls += c.calls.load(std::memory_order_relaxed);
    time += c.time.load(std::memory_order_relaxed);
    squares += c.squares.load(std::memory_order_relaxed);
    shortest = std::min(shortest, c.shortest.load(std::memory_order_relaxed));
    longest = std::max(longest, c.longest.load(std::memory_order_relaxed));
    open_time += c.open_time.load(std::memory_order_relaxed);
    open_pieces += c.open_pieces.load(std::memory_order_relaxed);
  }
};

task_statistics statistics_of(name_id id, const cell_sum& sum) {
  task_statistics t{.id = id, .name = name_of(id), .calls = sum.calls, .slices = sum.calls + sum.open_pieces};
  t.total_s = seconds(sum.time + sum.open_time);
  if (sum.calls == 0) return t;
  const double n = static_cast<double>(sum.calls);
  const double mean = static_cast<double>(sum.time) / n;
  const double variance = std::max(0.0, sum.squares / n - mean * mean);  // rounding may leave it just below zero
  const double tick_s = 1.0 / ticks_per_second();
  t.mean_s = mean * tick_s;
  t.min_s = seconds(sum.shortest);
  t.max_s = seconds(sum.longest);
  t.stddev_s = std::sqrt(variance) * tick_s;
  return t;
}

/// Ticks per record() call, with and without a trace, on a log of some names and keys that fit the second-level cache.
/// About 0.6 ms.
recording_cost measure_recording() {
  constexpr int records = 8192;
  worker_log log;
  trace_ring ring(records * 4);
  const auto run = [&] {
    const ticks start = now_ticks();
    for (std::uint32_t i = 0; i < records; ++i)
      log.record({.name = i & 7, .key = i * 7919 % 4096, .begin = i, .end = 2 * i + 100});
    return static_cast<double>(now_ticks() - start) / records;
  };
  run();  // chunks
  recording_cost cost;
  cost.plain_ticks = std::min(run(), run());
  log.set_ring(&ring);
  log.set_mode(log.mode() | worker_log::tracing);
  run();
  cost.traced_ticks = std::min(run(), run());
  return cost;
}

const recording_cost& recording() {
  static const recording_cost cost = measure_recording();
  return cost;
}

}  // namespace

recorder::recorder(unsigned n_workers) : state_(std::make_unique<state>()) {
  recording();
  for (unsigned i = 0; i < n_workers; ++i) state_->workers.push_back(std::make_unique<worker_trace>());
}

recorder::~recorder() = default;

unsigned recorder::worker_count() const noexcept { return static_cast<unsigned>(state_->workers.size()); }

worker_log& recorder::worker(unsigned i) noexcept {
  PLX_ASSERT_LT(i, worker_count());
  return state_->workers[i]->log;
}

const worker_log& recorder::worker(unsigned i) const noexcept {
  PLX_ASSERT_LT(i, worker_count());
  return state_->workers[i]->log;
}

void recorder::statistics(bool on) { state_->set_mode(worker_log::statistics, on); }
void recorder::costs(bool on) { state_->set_mode(worker_log::costs, on); }

void recorder::trace(bool on, std::size_t ring_records) {
  if (on) {
    const std::lock_guard lock(state_->mutex);
    for (auto& w : state_->workers) {
      if (w->ring) continue;
      w->ring = std::make_unique<trace_ring>(ring_records);
      w->log.set_ring(w->ring.get());
    }
  }
  state_->set_mode(worker_log::tracing, on);
}

void recorder::drain() {
  const std::lock_guard lock(state_->mutex);
  state_->drain_locked();
}

std::uint64_t recorder::traced() const {
  const std::lock_guard lock(state_->mutex);
  return state_->kept;
}

std::uint64_t recorder::trace_lost() const {
  const std::lock_guard lock(state_->mutex);
  return state_->lost_locked();
}

std::vector<task_statistics> recorder::tasks() const {
  std::vector<task_statistics> all;
  for (name_id id = 0, n = name_count(); id < n; ++id) {
    cell_sum sum;
    for (const auto& w : state_->workers)
      if (const detail::name_cell* c = w->log.name(id)) sum.add(*c);
    if (sum.calls + sum.open_pieces > 0) all.push_back(statistics_of(id, sum));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.total_s > b.total_s; });
  return all;
}

cost_map recorder::state::all_costs() const {
  cost_map sums;
  for (const auto& w : workers) {
    w->log.for_each_key([&](std::uint64_t key, ticks time, std::uint64_t calls) {
      key_sum& sum = sums[key];
      sum.time += time;
      sum.calls += calls;
    });
  }
  return sums;
}

std::vector<key_cost> recorder::costs() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<key_cost> costs;
  for (const auto& [key, sum] : state_->all_costs()) {
    const auto then = state_->cost_base.find(key);
    const key_sum base = then == state_->cost_base.end() ? key_sum{} : then->second;
    if (sum.time == base.time && sum.calls == base.calls) continue;
    costs.push_back({key, seconds(sum.time - base.time), sum.calls - base.calls});
  }
  std::sort(costs.begin(), costs.end(), [](const key_cost& a, const key_cost& b) { return a.key < b.key; });
  return costs;
}

/// The workers' counters only ever grow, because they have one writer: a reset remembers where they stood.
void recorder::reset_costs() {
  const std::lock_guard lock(state_->mutex);
  state_->cost_base = state_->all_costs();
}

worker_times recorder::times(unsigned i) const {
  const worker_log& log = worker(i);
  cell_sum sum;
  for (name_id id = 0, n = name_count(); id < n; ++id)
    if (const detail::name_cell* c = log.name(id)) sum.add(*c);
  return {.exec_s = seconds(sum.time + sum.open_time),
          .idle_s = seconds(log.idle_time()),
          .overhead_s = seconds(log.overhead_time()),
          .background_s = seconds(log.background_time()),
          .tasks = sum.calls};
}

double recorder::measurement_cost() const {
  double cost = 0;
  double all_s = 0;
  for (unsigned i = 0; i < worker_count(); ++i) {
    const trace_ring* ring = worker(i).ring();
    const double pieces = static_cast<double>(worker(i).pieces());
    const double traced = ring == nullptr ? 0.0 : static_cast<double>(ring->pushed() + ring->lost());
    cost += pieces * recording().plain_ticks;
    cost += traced * std::max(0.0, recording().traced_ticks - recording().plain_ticks);
    const worker_times t = times(i);
    all_s += t.exec_s + t.idle_s + t.overhead_s + t.background_s;
  }
  return all_s > 0 ? cost / ticks_per_second() / all_s : 0.0;
}

result<void> recorder::write_profile_csv(std::string_view path) const {
  const std::vector<task_statistics> all = tasks();
  double sum_s = 0;
  for (const task_statistics& t : all) sum_s += t.total_s;
  std::string text = "name,calls,total_s,mean_s,min_s,max_s,stddev_s,share\n";
  for (const task_statistics& t : all) {
    fmt::format_to(std::back_inserter(text), "{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.6f}\n", csv_field(t.name),
                   t.calls, t.total_s, t.mean_s, t.min_s, t.max_s, t.stddev_s, sum_s > 0 ? t.total_s / sum_s : 0.0);
  }
  return write_file(std::string(path), text);
}

}  // namespace plx::probe
