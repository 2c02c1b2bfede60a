// Partitions the curve of blocks into consecutive parts of about equal cost, one for each owner.
//
// Thread safety: pure. Cost: O(blocks). Example: mesh/tree/test/curve_cut_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plx::mesh {

/// Owner of each block, ascending along the curve: a block belongs to the part that contains the midpoint of its cost.
/// Shapes:   cost_s: by position on the curve (block_mesh::blocks()); the result, too.
/// No part is empty if there are enough blocks; if all costs are zero, they count as equal.
/// Requires: parts >= 1; costs finite and not negative.
std::vector<std::int32_t> cut_curve(std::span<const double> cost_s, int parts);

}  // namespace plx::mesh
