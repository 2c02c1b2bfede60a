// Reads a trace file (trace_writer.hpp), also while it is being written and after a crash: up to its last complete
// chunk.
//
// Thread safety: one thread at a time. Memory: one chunk, whatever the length of the file. Cost: some 33 ns per record,
// statistics included (docs/probe.md). Errors: one line if the file is not a trace. Damage is not an error: chunks
// whose checksum does not match are skipped and counted. Example: trace/file/test/trace_file_test.cpp
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "probe/record/trace_sink.hpp"

namespace plx::probe {

/// The state of a file that was read.
struct trace_file_state {
  trace_totals totals;          // of the newest record of them; `ended`: the trace is complete
  std::uint64_t records = 0;    // read
  std::uint64_t bytes = 0;      // of the file
  std::uint64_t damaged = 0;    // chunks, or stretches of the file without a valid chunk
  std::uint64_t cut_bytes = 0;  // at the end, of a chunk that is incomplete

  /// A line for each deficiency of the trace.
  [[nodiscard]] std::vector<std::string> warnings(const std::string& path) const;
};

/// The start of the file.
result<trace_start> start_of_trace(const std::string& path);

/// The part of a file to read, in ticks of its clock: chunks without a time in [first, last] are skipped.
struct tick_window {
  ticks first = 0, last = ~ticks{0};
  bool only_small = false;  // skips records, operations and parcels, too

  /// Whether a slice, or with begin = end a moment, lies in it, at least in part.
  [[nodiscard]] bool overlaps(ticks begin, ticks end) const noexcept { return begin <= last && end >= first; }
};

/// Passes the file to the sink: everything, or the chunks of the window, with records beyond both of its ends. Names
/// get ids of this process. Cost of a skipped chunk: 1 us.
result<trace_file_state> read_trace(const std::string& path, trace_sink& to, const tick_window& window = {});

/// Records of a chunk, from its head.
struct trace_extent {
  ticks first = 0, last = ~ticks{0};  // their times
  std::uint64_t records = 0;
};

/// The chunks with records, operations or parcels, in the order of the file. Reads the heads alone. Memory: 24 bytes
/// for each chunk of some 10,000 records.
result<std::vector<trace_extent>> extents_of_trace(const std::string& path);

/// A part of a run, in seconds since its start.
struct time_range {
  double from_s = 0, to_s = std::numeric_limits<double>::infinity();

  /// Whether it is the whole run.
  [[nodiscard]] bool whole() const noexcept { return from_s <= 0 && std::isinf(to_s); }
};

/// The traces of a run, in memory: times in ticks of this process, from the start of the first file.
struct loaded_trace {
  job_trace_data trace;  // localities are empty for a single file
  std::vector<std::string> warnings{};
  double ticks_per_second = plx::ticks_per_second();  // of the times in it
};

/// The files of a run: RUN/trace.plxt and RUN/localities/N/trace.plxt, or without them RUN/rank-N/trace.plxt
/// (plx-exec); RUN itself if it is a file. Error: they are of jobs with different numbers of localities.
result<std::vector<std::string>> trace_files(const std::string& run);

/// Removes RUN/localities/N/trace.plxt, which an earlier run left there, for N >= `localities` and for those N that are
/// no multiples of `every`. The files of the other localities are overwritten by them. Called by locality 0 when its
/// trace begins.
void remove_traces_beyond(const std::string& run, unsigned localities, std::uint64_t every = 1);

/// Makes the clock of this process that of the first file: the files then give the same numbers each time. See
/// base/clock_rate.hpp for what it requires.
result<void> use_clock_of(const std::vector<std::string>& files);

/// Reads all files of a run, or the slices, samples, marks and messages of a part of it (run_files.hpp), with a warning
/// that dependencies on what ran before are missing. A file's records after the first `most` (and the end of their
/// chunk) are skipped; a warning contains the number. Memory: 48 bytes per slice and 24 per dependency.
result<loaded_trace> load_trace(const std::vector<std::string>& files, std::uint64_t most = ~std::uint64_t{0},
                                const time_range& range = {});

}  // namespace plx::probe
