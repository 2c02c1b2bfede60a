// Moves blocks between localities: values, signal rate and measured cost.
//
// Thread safety: all localities call it, each in a task, exclusively. Cost: one message per 32 blocks and pair of
// localities, and its bytes. Errors: locality_lost, thrown. Example: star/localities_test.cpp
#pragma once

#include <span>
#include <vector>

#include "star/block_costs.hpp"
#include "star/gas.hpp"

namespace plx::star {

/// A block that moves from one locality to another.
struct block_move {
  mesh::slot_id slot = mesh::no_slot;
  int from = 0, to = 0;
};

/// The moves that turn the partition `held` into `wanted`, in the order of the curve.
std::vector<block_move> moves_between(const mesh::block_mesh& mesh, const mesh::curve_parts& held,
                                      const mesh::curve_parts& wanted);

/// Moves the blocks in `now`. Requires: the same list on all localities; memory at both ends (gas::make_room).
void move_blocks(gas& g, block_costs& costs, std::span<const block_move> moves);

}  // namespace plx::star
