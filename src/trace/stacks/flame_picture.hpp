// A flame graph as a picture with zoom and search, for browsers.
//
// Thread safety: all functions. Cost: O(frames). Example: trace/flame_graph.cpp, trace/stacks/stack_files.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plx::probe {

/// A frame, which lies above its parent.
struct flame_frame {
  static constexpr std::uint32_t none = ~0u;
  std::uint32_t parent = none;  // precedes it in the list
  std::uint32_t depth = 0;
  double below = 0;  // its width, in any unit; at least the sum of its children's
  std::string name;
  std::string about;  // shown beside the name when the mouse points at it
};

struct flame_picture {
  std::string title;
  std::string about;  // the line below the title
  std::string total;  // of all frames, with its unit
  std::vector<flame_frame> frames;
};

/// An SVG file without references to others. Frames below 2e-5 of the total are omitted. A click enlarges a frame; the
/// search marks frames by a part of their name.
std::string flame_svg(const flame_picture& p);

}  // namespace plx::probe
