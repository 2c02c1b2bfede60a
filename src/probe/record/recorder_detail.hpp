// Internal: the data of a recorder. For recorder.cpp and trace_data.cpp.
//
// Thread safety: `workers` may grow while it is read; all members after `mutex` are guarded by it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probe/crash/flight_ring.hpp"
#include "probe/record/device_lanes.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_ring.hpp"
#include "probe/record/trace_sink.hpp"
#include "probe/record/wait_log.hpp"

namespace plx::probe {

/// Costs of recording in ticks, measured at the first call, in 0.7 ms.
struct recording_cost {
  double slice = 0;   // of worker_log::record()
  double record = 0;  // of each trace record, in addition
  double clock = 0;   // of a clock reading
};
const recording_cost& cost_of_recording();

struct key_sum {
  ticks time = 0;
  std::uint64_t calls = 0;
};
using cost_map = std::unordered_map<std::uint64_t, key_sum>;

/// A worker's log and the records drained from its ring, in chunks so that growth never copies.
struct worker_trace {
  static constexpr std::size_t piece_records = 1u << 15;

  worker_trace(unsigned index, unsigned space) : log(index, space) {}

  worker_log log;
  wait_log waits;
  std::unique_ptr<trace_ring> ring;
  std::unique_ptr<flight_ring> flight;
  std::unique_ptr<flight_ring> links;  // of the slices in `flight`
  std::vector<std::vector<trace_record>> kept;

  /// Returns the number of records kept: fewer than given if there is no memory.
  std::size_t keep(std::span<const trace_record> records) {
    std::span<const trace_record> left = records;
    while (!left.empty()) {
      if (kept.empty() || kept.back().size() == piece_records) {
        try {
          std::vector<trace_record> piece;
          piece.reserve(piece_records);
          kept.push_back(std::move(piece));
        } catch (const std::bad_alloc&) {
          break;
        }
      }
      auto& piece = kept.back();
      const std::size_t n = std::min(left.size(), piece_records - piece.size());
      piece.insert(piece.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n));
      left = left.subspan(n);
    }
    return records.size() - left.size();
  }
};

/// The workers of a recorder: one may be added while others are read. A worker never moves.
/// Memory order: the count is released after the worker's slot is filled, and acquired by readers.
class worker_list {
 public:
  using place = std::unique_ptr<worker_trace>;

  explicit worker_list(unsigned most) : most_(most), places_(std::make_unique<place[]>(most)) {}

  /// One call at a time. Requires: size() < most().
  worker_trace& push_back(place w) {
    const unsigned n = n_.load(std::memory_order_relaxed);
    places_[n] = std::move(w);
    n_.store(n + 1, std::memory_order_release);
    return *places_[n];
  }
  [[nodiscard]] unsigned size() const noexcept { return n_.load(std::memory_order_acquire); }
  [[nodiscard]] unsigned most() const noexcept { return most_; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  const place& operator[](unsigned i) const noexcept { return places_[i]; }
  [[nodiscard]] const place* begin() const noexcept { return places_.get(); }
  [[nodiscard]] const place* end() const noexcept { return places_.get() + size(); }

 private:
  const unsigned most_;
  const std::unique_ptr<place[]> places_;
  std::atomic<unsigned> n_{0};
};

struct recorder::state {
  static constexpr std::size_t max_noted = std::size_t{1} << 20;  // samples, and separately marks

  explicit state(unsigned most_workers) : workers(most_workers) {}

  // Taken before both others. Guards the use of the trace: by the program, with a sink or in memory, or by
  // lend_trace().
  std::mutex use_mutex;
  bool sink_in_use = false, memory_in_use = false;  // by the program
  bool lent = false;                                // to the sink of lend_trace(); written with drain_mutex, too
  int lent_by = 0;                                  // the process
  bool left_over = false;  // the rings may have records of lend_trace(): workers had not yet seen its end

  // Held while the rings are drained, and taken before `mutex`: a sink may block for long.
  std::mutex drain_mutex;
  trace_sink* sink = nullptr;  // guarded by drain_mutex, and so are the members up to `streamed`
  std::vector<std::weak_ptr<trace_source>> sources;
  std::vector<std::string> names_passed;  // of workers, to the sink
  std::vector<bool> lanes_named;          // by lane of a device
  std::uint64_t lost_before = 0, streamed_before = 0;
  std::uint64_t lost_lent = 0;  // by lend_trace(), also guarded by `mutex`
  unsigned rounds = 0;
  std::atomic<std::uint64_t> streamed{0};

  idle_balance balance;
  worker_list workers;
  std::vector<std::string> worker_names;  // under `mutex`
  const ticks origin = now_ticks();
  const unsigned space = next_space();  // ids of this recorder's tasks
  device_lanes lanes{workers.most(), space};

  mutable std::mutex mutex;
  std::uint64_t kept = 0;
  std::uint64_t dropped = 0;  // records without memory; samples and marks beyond their limit
  std::vector<trace_sample> samples;
  std::vector<trace_mark> marks;
  cost_map cost_base;
  std::atomic<double> background_s{0};  // of the thread of periodic functions
  double share = 1;
  std::unique_ptr<trace_rates> rates;         // null until a share below 1 is set
  const trace_rates* rates_in_use = nullptr;  // null: everything is traced
  bool flight_enabled = false;                // by flight()
  unsigned flight_uses = 0;                   // objects of flight_use
  unsigned flight_links_uses = 0;             // calls of flight_links(true) without one of false
  double flight_from_s = 1e-6;
  task_observer* observer = nullptr;
  bool edges_for_trace = false, edges_for_paths = false, edges_for_flight = false;
  bool edges = false, events = false;  // counted in `wanted`

  static unsigned next_space() {
    static std::atomic<unsigned> recorders{0};
    return recorders.fetch_add(1, std::memory_order_relaxed);
  }
  void want_edges(bool for_trace, bool for_paths) {
    edges_for_trace = for_trace;
    edges_for_paths = for_paths;
    const bool on = for_trace || for_paths || edges_for_flight;
    if (edges != on) wanted.fetch_add(on ? wants_edges : -wants_edges, std::memory_order_relaxed);
    edges = on;
  }
  void want_events(bool on) {
    if (events != on) wanted.fetch_add(on ? wants_events : -wants_events, std::memory_order_relaxed);
    events = on;
  }
  void want_edges_for_flight(bool on) {
    edges_for_flight = on;
    want_edges(edges_for_trace, edges_for_paths);
  }
  ~state() {
    edges_for_flight = false;
    want_edges(false, false);
    want_events(false);
  }

  /// For all names; `kinds`: individual rates will follow.
  void set_rates(std::uint16_t every, bool kinds = false);
  void set_flight(std::size_t records);
  bool some_kind_is_whole() const;
  bool tracing_locked() const { return !workers.empty() && (workers[0]->log.mode() & worker_log::tracing) != 0; }
  void set_mode(std::uint32_t bit, bool on) {
    const std::lock_guard lock(mutex);
    for (auto& w : workers) w->log.set_mode(on ? w->log.mode() | bit : w->log.mode() & ~bit);
  }
  /// Requires: drain_mutex is held, and there is a sink.
  void drain_to_sink(bool last);
  /// Requires: drain_mutex is held, and the sink is set.
  void begin_sink(unsigned locality, unsigned localities);
  /// Requires: use_mutex is held.
  bool end_lent() noexcept;
  /// Before the program uses the trace itself. Requires: use_mutex is held.
  void take_back() noexcept;
  /// In the child of a fork, whose parent records the trace of lend_trace().
  [[nodiscard]] bool of_parent() const noexcept;
  void set_tracing(bool on, std::size_t ring_records, double share);
  void forget();
  /// Requires: drain_mutex and mutex are held.
  void drain_locked() {
    for (auto& w : workers) {
      if (!w->ring) continue;
      w->ring->drain_spans([&](std::span<const trace_record> records) {
        const std::size_t n = w->keep(records);
        kept += n;
        dropped += records.size() - n;
      });
    }
  }
  std::uint64_t lost_locked() const {
    std::uint64_t lost = dropped + lanes.lost();
    for (const auto& w : workers) lost += w->ring ? w->ring->lost() : 0;
    return lost;
  }
  cost_map all_costs() const;
  /// For the workers [first, last), largest total first.
  std::vector<task_statistics> statistics_of_workers(std::size_t first, std::size_t last) const;
  duration_histogram durations_of(name_id id, std::size_t first, std::size_t last) const;
};

}  // namespace plx::probe
