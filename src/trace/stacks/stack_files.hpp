// The files of sampled stacks (probe/sample/sampler.hpp).
//
// Thread safety: all functions. Cost: reads the symbols of programs and libraries with samples; for lines, stacks_csv()
// starts addr2line once per file (base/symbols.hpp). Example: trace/stacks/test/stack_files_test.cpp
#pragma once

#include <string>
#include <vector>

#include "probe/sample/sample_tree.hpp"

namespace plx::probe {

/// A flame graph by function. `calls`: tree.calls(); `period_s`: the CPU time that one period of the tree stands for.
std::string stacks_svg(const sample_tree& tree, const std::vector<sampled_call>& calls, double period_s);

/// Columns task,function,cpu_s,share,file,line,line_cpu_s: the CPU time in a function itself, for at most `most` pairs
/// of a task type and a function, the most expensive first. The last three describe the line with the most samples;
/// without debug information, or without `lines`, they are empty.
std::string stacks_csv(const sample_tree& tree, double period_s, bool lines = true, std::size_t most = 200);

}  // namespace plx::probe
