// Statistics of a trace file by task type, in constant memory: for traces that do not fit into memory.
//
// Durations are those of slices: a task that was suspended has several. Quantiles are upper bounds of bins whose limits
// differ by a factor of 2^(1/4), 19 %. A slice counts as often as it represents others (trace-budget); a type that is
// no longer traced is not counted from then on. If the trace has samples of the machine's energy, each interval between
// two of them is divided in equal parts among the workers, and a worker's part among its slices, by time.
// Thread safety: values. Cost: that of trace_reader.hpp. Errors: those of
// trace_reader.hpp. Example: trace/tools/test/trace_stats_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::probe {

/// One task type, or operations of a device of one name.
struct slice_statistics {
  static constexpr unsigned n_bins = 256;

  std::string name;
  std::uint64_t tasks = 0;  // that ended
  std::uint64_t slices = 0;
  std::uint64_t recorded = 0;  // of those; the others are represented by them (trace_slice::every)
  double total_s = 0;
  double squares_s2 = 0;
  double min_s = 0, max_s = 0;
  double energy_j = 0;                       // used while its slices ran, if known: of the workers' part
  double wait_s = 0;                         // from ready to begin, of all slices for which it is known
  std::array<std::uint64_t, n_bins> bins{};  // bin i: up to 2^(i/4) ns

  /// The mean duration of a slice.
  [[nodiscard]] double mean_s() const noexcept { return slices > 0 ? total_s / static_cast<double>(slices) : 0; }
  /// The upper limit of the bin that contains that share of the slices, at most max_s.
  [[nodiscard]] double quantile_s(double share) const noexcept;
};

/// A trace, or all traces of a run.
struct trace_statistics {
  std::vector<slice_statistics> types;  // largest total first
  std::uint64_t records = 0, lost = 0, bytes = 0;
  double share = 1;   // trace_data::share, the smallest of all files
  double wall_s = 0;  // from the first begin to the last end of a file, the longest of all files
  unsigned workers = 0;
  double energy_j = 0;  // of the machine; 0: unknown, or the trace is one of a job, or reduced by trace-budget
  std::vector<std::string> warnings;
};

/// Reads all files; with a range, the slices that lie in it, at least in part.
result<trace_statistics> statistics_of_trace(const std::vector<std::string>& files, const time_range& range = {});

/// A table of at most `rows` types. Lines have at most 110 characters.
std::string statistics_text(const trace_statistics& s, std::size_t rows = 40);
/// The durations of the types whose name contains `pattern`, as bars by factors of 2.
std::string histogram_text(const trace_statistics& s, const std::string& pattern);
/// The change from `a` to `b`: the difference of total times, by the number of slices and by their mean length.
std::string difference_text(const trace_statistics& a, const trace_statistics& b, std::size_t rows = 40);

}  // namespace plx::probe
