// The flat profile: calls and times of each task type, as a text table, as CSV, and as TAU files.
//
// Thread safety: all functions. Cost: sums over workers and names. Errors: those of base/file.hpp.
// Example: trace/test/profile_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

struct counts_of_tasks;  // probe/monitor/task_counts.hpp
struct energy_of_tasks;  // probe/monitor/task_energy.hpp
struct machine_limits;   // probe/monitor/machine_limits.hpp

/// Measurements of task types beside their times; null: not measured.
struct measured_of_tasks {
  const energy_of_tasks* energy = nullptr;
  const counts_of_tasks* counts = nullptr;
  const machine_limits* limits = nullptr;
};

// Numbers as text. Thread safety: all functions. Cost: an allocation. Example: trace/test/units_test.cpp

/// Three digits and a suitable unit: "1.23 us", "45.6 ms", "789 s"; "0" for zero.
std::string time_text(double seconds);
/// Groups of three: "1,234,567".
std::string count_text(std::uint64_t n);
/// "12.3 %"; a positive share that would round to zero is "<0.1 %".
std::string share_text(double share);
/// At most `width` characters (UTF-8): the middle of a longer text is replaced by "...". Requires: width >= 8.
std::string shortened(std::string_view text, std::size_t width);
/// Pads with blanks on the right to `width` characters (UTF-8).
std::string padded(std::string_view text, std::size_t width);
/// Pads on the left.
std::string right(std::string_view text, std::size_t width);

/// A table, largest total first, then lines with the use of worker time, the cost of measurement, what idle time is
/// charged to and, if measured, which task types used energy, which had most of each event, and how near the limits of
/// the machine they come. Lines of the table have at most 110 characters; task types after the first `rows` are summed.
std::string profile_text(const recorder& r, std::size_t rows = 40, const measured_of_tasks& more = {});

/// Columns name,calls,yields,total_s,mean_s,min_s,max_s,stddev_s,share,idle_blame_s,lock_blame_s,p50_s,p99_s and, if
/// measured, energy_j, a column perf:EVENT for each event, and flops,bytes of stated work.
result<void> write_profile_csv(const recorder& r, const std::string& path, const measured_of_tasks& more = {});

/// Device operations: a row per device and operation, largest total first, and a line per device. "" without
/// operations.
std::string device_profile_text(const recorder& r, std::size_t rows = 40);

/// Columns device,kind,name,calls,items,failed,total_s,mean_s,min_s,max_s,share,bytes,bytes_per_s: share of the time in
/// which the device was busy; with several streams the rows may add up to more.
result<void> write_device_profile_csv(const recorder& r, const std::string& path);

/// TAU's profile.<locality>.0.<worker> for each worker, as read by ParaProf and pprof: times in microseconds. Tasks do
/// not nest, so inclusive and exclusive times are equal. Other time of a worker is in the group PLX_RUNTIME. Requires:
/// the folder exists and is preferably empty, since ParaProf reads all of its files.
result<void> write_tau_profiles(const recorder& r, unsigned locality, const std::string& folder);

}  // namespace plx::probe
