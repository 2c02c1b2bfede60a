// Blocks that go from one locality to another: values, signal rate, what they have cost.
//
// Thread safety: all localities call it, each in a task, alone. Cost: one message per thirty-two blocks and pair; the
// bytes. Errors: locality_lost, thrown. Example: star/localities_test.cpp
#pragma once

#include <span>
#include <vector>

#include "star/block_costs.hpp"
#include "star/gas.hpp"

namespace plx::star {

/// A block that one locality has and another one gets.
struct block_move {
  mesh::slot_id slot = mesh::no_slot;
  int from = 0, to = 0;
};

/// What must move for blocks that lie as `held` says to lie as `wanted` says, in the order of the curve.
std::vector<block_move> moves_between(const mesh::block_mesh& mesh, const mesh::curve_parts& held,
                                      const mesh::curve_parts& wanted);

/// Moves them, in `now`. Requires: the same list on all localities; both sides have room (gas::make_room).
void move_blocks(gas& g, block_costs& costs, std::span<const block_move> moves);

}  // namespace plx::star
