// What measuring itself costs.
#include <algorithm>

#include "probe/recorder_detail.hpp"

namespace plx::probe {
namespace {

constexpr int records = 8192;

/// On a log of some names and keys that fit the second-level cache.
double ticks_per_slice(worker_log& log) {
  const ticks start = now_ticks();
  for (std::uint32_t i = 0; i < records; ++i)
    log.record({.name = i & 7, .key = i * 7919 % 4096, .begin = i, .end = 2 * i + 100, .id = log.next_id()});
  return static_cast<double>(now_ticks() - start) / records;
}

double ticks_per_look() {
  constexpr int looks = 1000;
  const ticks start = now_ticks();
  for (int i = 1; i < looks; ++i) {
    const ticks now = now_ticks();
    asm volatile("" : : "r"(now));
  }
  return static_cast<double>(now_ticks() - start) / looks;
}

recording_cost measure() {
  worker_log log;
  trace_ring ring(records * 4);
  ticks_per_slice(log);  // makes the chunks
  recording_cost cost;
  cost.slice = std::min(ticks_per_slice(log), ticks_per_slice(log));
  log.set_ring(&ring);
  log.set_mode(log.mode() | worker_log::tracing);
  ticks_per_slice(log);
  cost.record = std::max(0.0, std::min(ticks_per_slice(log), ticks_per_slice(log)) - cost.slice);
  cost.clock = std::min(ticks_per_look(), ticks_per_look());
  return cost;
}

}  // namespace

const recording_cost& cost_of_recording() {
  static const recording_cost cost = measure();
  return cost;
}

double recorder::measurement_cost() const {
  const recording_cost& each = cost_of_recording();
  double cost = 0;
  double all_s = 0;
  for (unsigned i = 0; i < worker_count(); ++i) {
    const worker_log& log = worker(i);
    const auto count = [](const auto* ring) { return ring == nullptr ? 0.0 : static_cast<double>(ring->pushed()); };
    const double lost = log.ring() == nullptr ? 0.0 : static_cast<double>(log.ring()->lost());
    cost += static_cast<double>(log.pieces()) * each.slice;
    cost += (count(log.ring()) + lost + count(log.flight())) * each.record;
    cost += static_cast<double>(log.edges()) * each.clock;  // when a task became ready, or an input came
    const worker_times t = times(i);
    all_s += t.exec_s + t.idle_s + t.overhead_s + t.background_s;
  }
  const double background_s = state_->background_s.load(std::memory_order_relaxed);
  return all_s > 0 ? (cost / ticks_per_second() + background_s) / all_s : 0.0;
}

void recorder::set_background(double s) noexcept { state_->background_s.store(s, std::memory_order_relaxed); }

}  // namespace plx::probe
