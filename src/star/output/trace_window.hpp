// Traces every task in some steps of a run, at negligible cost, or in all of them: the source of the report's timeline
// and critical path, and of trace.plxt.
//
// A window begins at step 1, and again whenever the number of steps has doubled; the last complete one is kept. It ends
// after the first step by which it has lasted half a second or recorded 50,000 slices: never within a step, so a long
// step makes a long window. Records for which the buffers have no room are counted as dropped. A trace of all steps
// is drained by a thread of its own, as PLX_TRACE=1 does it.
// Thread safety: used by the thread that calls step(), between steps. Cost: that of tracing (docs/probe.md), in a few
// windows; a buffer of 2^17 records of 32 bytes, 4 MiB, per worker, kept until the run ends, and the records of the
// kept window. Errors: end() returns the first. Private to star. Example: star/output/test/trace_window_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "probe/counters/periodic_thread.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/file/trace_writer.hpp"

namespace plx::star {

class trace_window {
 public:
  /// Which steps are traced. `nothing`: tracing is already in use.
  enum class steps : std::uint8_t { nothing, windows, all };

  /// `path`: the trace file of the kept window, of locality 0 alone, or of all steps. `most_s`: a window ends after the
  /// first step by which it has lasted this long.
  trace_window(probe::recorder& r, steps which, std::string path, unsigned locality = 0, unsigned localities = 1,
               double most_s = usual_s)
      : recorder_(r),
        which_(which),
        path_(std::move(path)),
        locality_(locality),
        localities_(localities),
        most_s_(most_s) {}
  ~trace_window();

  /// Begins the trace of all steps, with what the recorder has recorded before. Traces of other localities that earlier
  /// runs left in the folder are removed. The folder of the file must exist.
  result<void> begin();
  /// Call it after each step.
  void after_step(std::int64_t step);
  /// Ends a window that is open, or the trace. Call it before data().
  result<void> end();

  /// The records of the kept window, or of all steps: then at most the first `most_kept`. Empty if there are none.
  [[nodiscard]] const probe::trace_data& data() const noexcept { return data_; }
  /// The first and the last step of the kept window.
  [[nodiscard]] std::int64_t first_step() const noexcept { return first_; }
  [[nodiscard]] std::int64_t last_step() const noexcept { return last_; }

  static constexpr std::uint64_t most_records = 50'000;
  static constexpr double usual_s = 0.5;
  static constexpr std::uint64_t most_kept = std::uint64_t{1} << 20;  // about 200 MB

 private:
  result<void> start(const std::string& path);
  result<void> stop();
  void abandon();
  void open(std::int64_t step);
  void close();
  void keep(result<void> r);
  [[nodiscard]] std::string unfinished() const { return path_ + ".part"; }

  probe::recorder& recorder_;
  const steps which_;
  const std::string path_;
  const unsigned locality_, localities_;
  const double most_s_;
  std::unique_ptr<probe::trace_writer> file_;  // while a trace is open
  bool created_ = false;                       // has this object created the file?
  std::unique_ptr<probe::periodic_thread> draining_;
  result<void> failed_;                   // the first error
  std::int64_t next_ = 1;                 // the step after which the next window opens
  std::int64_t opened_ = 0, newest_ = 0;  // the step before the open window's first, and its newest
  double begin_s_ = 0;
  std::uint64_t records_before_ = 0;
  std::int64_t first_ = 0, last_ = 0;  // of the kept one
  probe::trace_data data_;
};

/// Writes timeline.csv (worker,name,key,begin_s,end_s,device: at most `most` slices of tasks, and device operations,
/// with a stream instead of a worker), concurrency.csv, scatter.csv, flame.svg, critical_path.csv and
/// critical_path.json from a trace.
result<void> write_task_tables(const probe::trace_data& data, const std::string& folder, std::size_t most = 20'000);

}  // namespace plx::star
