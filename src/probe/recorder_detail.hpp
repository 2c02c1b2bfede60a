// Internal: what a recorder holds. For recorder.cpp and trace_json.cpp.
//
// Thread safety: `workers` is fixed once the recorder is made; everything below `mutex` is used under it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "probe/recorder.hpp"
#include "probe/trace_ring.hpp"

namespace plx::probe {

struct recording_cost {
  double plain_ticks = 0;
  double traced_ticks = 0;
};

struct key_sum {
  ticks time = 0;
  std::uint64_t calls = 0;
};
using cost_map = std::unordered_map<std::uint64_t, key_sum>;

/// A worker's log and the records drained from its ring, in pieces so that growing never copies.
struct worker_trace {
  static constexpr std::size_t piece_records = 1u << 15;

  worker_log log;
  std::unique_ptr<trace_ring> ring;
  std::vector<std::vector<trace_record>> kept;

  void keep(const trace_record& r) {
    if (kept.empty() || kept.back().size() == piece_records) kept.emplace_back().reserve(piece_records);
    kept.back().push_back(r);
  }
};

struct counter_sample {
  ticks when;
  std::string name;
  double value;
};

struct recorder::state {
  static constexpr std::uint64_t max_kept = 1ull << 24;

  std::vector<std::unique_ptr<worker_trace>> workers;
  const ticks origin = now_ticks();

  mutable std::mutex mutex;
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;  // records that found max_kept reached
  std::vector<counter_sample> samples;
  cost_map cost_base;

  void set_mode(std::uint32_t bit, bool on) {
    const std::lock_guard lock(mutex);
    for (auto& w : workers) w->log.set_mode(on ? w->log.mode() | bit : w->log.mode() & ~bit);
  }
  void drain_locked() {
    for (auto& w : workers) {
      if (!w->ring) continue;
      w->ring->drain([&](const trace_record& r) {
        if (kept >= max_kept) return void(++dropped);
        w->keep(r);
        ++kept;
      });
    }
  }
  std::uint64_t lost_locked() const {
    std::uint64_t lost = dropped;
    for (const auto& w : workers) lost += w->ring ? w->ring->lost() : 0;
    return lost;
  }
  cost_map all_costs() const;
};

}  // namespace plx::probe
