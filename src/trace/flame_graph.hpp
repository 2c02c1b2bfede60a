// The call-path tree (task_plots.hpp) as a flame graph: a picture with zoom and search for browsers, and collapsed
// stacks for speedscope, flamegraph.pl and others.
//
// Thread safety: all functions. Cost: O(paths). Errors: those of base/file.hpp; a file is complete or absent.
// Example: trace/test/flame_graph_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/task_plots.hpp"

namespace plx::probe {

/// A line per path with time of its own: the names from the root, separated by ";", and that time in us. In names ";"
/// becomes ",".
std::string collapsed_stacks(const std::vector<call_path>& tree);

/// An SVG file without references to others. The width of a frame is the time of its tasks and of those below; frames
/// below 2e-5 of the total are omitted. A click enlarges a frame; the search marks frames by a part of their name.
std::string flame_svg(const std::vector<call_path>& tree);

}  // namespace plx::probe
