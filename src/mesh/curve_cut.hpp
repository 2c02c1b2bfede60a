// Cuts the curve of blocks into consecutive parts of about equal cost: who owns which block.
//
// Thread safety: pure. Cost: O(blocks). Example: mesh/curve_cut_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plx::mesh {

/// Owner of each block, ascending along the curve: a block belongs to the part in which the middle of its cost falls.
/// Shapes:   cost_s: by position on the curve (block_mesh::blocks()); so is the result.
/// No part is empty while there are blocks enough; costs of zero in all count as equal.
/// Requires: parts >= 1; costs finite and not negative.
std::vector<std::int32_t> cut_curve(std::span<const double> cost_s, int parts);

}  // namespace plx::mesh
