// The memory that a trace takes when it is loaded, for programs that refuse one which does not fit: without overcommit
// limits the system would end them, or other programs, in the middle.
//
// Thread safety: values. Cost: a walk over the heads of the files (0.1 s for 10^9 records). Errors: one line.
// Example: trace/file/test/trace_memory_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::probe {

/// Peak memory per record of a trace that is loaded: with its graph, and of what is computed from it
/// (docs/probe.md has measurements).
inline constexpr double loaded_bytes_per_record = 200;

/// Bytes that this process can still take: of the machine, of its control group, and of its limit of address space.
double memory_for_traces();

/// The advice to a user whose trace does not fit.
enum class trace_advice : bool { select_a_part, none };

/// An error if the slices of the range do not fit: their number, the memory, and a part that fits. Less than 64 MiB is
/// never refused.
result<void> check_trace_fits(const std::vector<std::string>& files, const time_range& range,
                              trace_advice advice = trace_advice::select_a_part,
                              double available_bytes = memory_for_traces());

}  // namespace plx::probe
