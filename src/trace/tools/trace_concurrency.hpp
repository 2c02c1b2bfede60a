// The number of running tasks over time, from the files of a run in constant memory: they are read twice.
//
// Thread safety: values. Cost: twice that of trace_reader.hpp. Errors: those of trace_reader.hpp.
// Example: trace/tools/test/trace_concurrency_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/task_plots.hpp"

namespace plx::probe {

/// As concurrency_over_time() of the loaded trace. Lines for `warnings`: see trace_file_state.
result<concurrency> concurrency_of_trace(const std::vector<std::string>& files, std::vector<std::string>& warnings,
                                         const time_range& range = {}, std::size_t cells = 1000,
                                         std::size_t most_names = 20);

}  // namespace plx::probe
