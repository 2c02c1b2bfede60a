// Some steps of a run, traced task by task, at next to no cost: what the report draws and the critical path comes from.
//
// A window begins at step 1, and anew whenever the number of steps has doubled; the last one that is complete is kept.
// It ends after the first step by which it has lasted half a second or recorded 50,000 pieces: never within a step, so
// a long step makes a long window. What finds no place in the rings is counted as lost.
// Thread safety: of the thread that calls step(), between steps. Cost: what tracing costs (docs/probe.md), in a
// few windows; a ring of 2^17 records of 32 bytes, 4 MiB, per worker, kept until the run ends, and the records of the
// kept window. Inside star only.
// Example: star/trace_window_test.cpp
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::star {

class trace_window {
 public:
  /// `wanted`: false when somebody else traces.
  trace_window(probe::recorder& r, bool wanted) : recorder_(r), wanted_(wanted) {}

  /// Call it after each step.
  void after_step(std::int64_t step);
  /// Ends a window that is open. Call it before data().
  void end();

  /// What the kept window recorded; nothing when there was none.
  [[nodiscard]] const probe::trace_data& data() const noexcept { return data_; }
  /// The steps it was recorded in, the first and the last.
  [[nodiscard]] std::int64_t first_step() const noexcept { return first_; }
  [[nodiscard]] std::int64_t last_step() const noexcept { return last_; }

  static constexpr std::uint64_t most_records = 50'000;
  static constexpr double most_s = 0.5;

 private:
  void open(std::int64_t step);
  void close();

  probe::recorder& recorder_;
  const bool wanted_;
  bool open_ = false;
  std::int64_t next_ = 1;                 // the step after which the next one opens
  std::int64_t opened_ = 0, newest_ = 0;  // the step before the open window's first, and its newest
  double begin_s_ = 0;
  std::uint64_t lost_before_ = 0;
  std::int64_t first_ = 0, last_ = 0;  // of the kept one
  probe::trace_data data_;
};

/// timeline.csv (worker,name,key,begin_s,end_s,device: the pieces of tasks, and operations with the stream of a device
/// instead of a worker, at most `most`), concurrency.csv, scatter.csv,
/// critical_path.csv and critical_path.json, made of what was traced.
result<void> write_task_tables(const probe::trace_data& data, const std::string& folder, std::size_t most = 20'000);

}  // namespace plx::star
