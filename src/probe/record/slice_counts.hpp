// Events and stated work of one worker by task type: the counts of a slice belong to its type, all others to no task.
//
// A source, such as the kernel's counters of the worker's thread, is read where a slice ends, and where a slice begins
// after a search, a sleep or polling. A child that runs inline without a name of its own is part of its parent
// (docs/decisions/0003). Invariant, for each event: task types + no task = the source at the last boundary, exactly.
// Thread safety: slice_ends(), slice_begins() and add_work() by the worker; the others by any thread.
// Memory order: counters are relaxed; chunks are released when constructed, acquired by readers, and live as long as
// this object. Cost: a read of the source per boundary. Example: probe/monitor/test/task_counts_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "probe/record/names.hpp"

namespace plx::probe {

/// The most events of a source.
inline constexpr std::size_t most_counted_events = 16;
/// The counts of a source, by event.
using event_counts = std::array<std::uint64_t, most_counted_events>;

/// Counts of one thread that never decrease, and are 0 when counting begins.
class count_source {
 public:
  virtual ~count_source() = default;
  /// The present counts. Called by the counted thread only. False: they cannot be read now, `into` is undefined.
  virtual bool read(event_counts& into) noexcept = 0;
  /// The same, called by any thread, also when the counted one has ended. `counted`: the share of the time, from the
  /// begin, in which events were counted.
  virtual bool read_from_outside(event_counts& into, double& counted) const noexcept = 0;
};

class slice_counts {
 public:
  /// `source` has `n_events` and must outlive this object; null: stated work alone, n_events is 0.
  explicit slice_counts(count_source* source = nullptr, std::size_t n_events = 0) noexcept;
  ~slice_counts();
  slice_counts(const slice_counts&) = delete;
  slice_counts& operator=(const slice_counts&) = delete;

  /// The worker's slice of `name` has ended at `end`: what was counted since the last boundary is its own.
  void slice_ends(name_id name, ticks end) noexcept;
  /// A slice begins at `begin`: unless the last one ended there, what was counted since then belongs to no task.
  void slice_begins(ticks begin) noexcept;
  /// Adds to the slice that ends next.
  void add_work(double flops, double bytes) noexcept;

  /// Stated work of a task type.
  struct work {
    double flops = 0, bytes = 0;
  };
  /// Adds the counts of a name to `to`, which has a number per event. Returns its stated work.
  work add_to(name_id name, std::span<std::uint64_t> to) const noexcept;
  /// Adds the counts of no task.
  void add_no_task(std::span<std::uint64_t> to) const noexcept;
  /// Boundaries at which the source could not be read; their counts belong to the next boundary.
  [[nodiscard]] std::uint64_t failed_reads() const noexcept { return failed_.load(std::memory_order_relaxed); }

 private:
  struct cell {
    std::array<std::atomic<std::uint64_t>, most_counted_events> events{};
    std::atomic<double> flops{0}, bytes{0};
  };
  static constexpr std::size_t names_of_chunk = 32;
  using chunk = std::array<cell, names_of_chunk>;

  cell* cell_of(name_id name) noexcept;
  const cell* find(name_id name) const noexcept;
  void count_into(cell& c) noexcept;

  count_source* const source_;
  const std::size_t n_events_;
  event_counts last_{};  // at the last boundary
  ticks ended_ = 0;      // the last slice
  double flops_ = 0, bytes_ = 0;
  cell no_task_;
  std::atomic<std::uint64_t> failed_{0};
  std::array<std::atomic<chunk*>, max_names / names_of_chunk> chunks_{};
};

}  // namespace plx::probe
