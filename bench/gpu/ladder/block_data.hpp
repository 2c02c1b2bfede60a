// The arguments of kernels that process one block of a launch on all blocks, for steps with one launch per block.
//
// Thread safety: values. Cost: 40 bytes per launch. Example: bench/gpu/ladder/block_steps_test.cpp
#pragma once

#include <cstdint>

#include "star/device/data/step_data.hpp"

namespace plx::star::device {

/// The block at `position` in the arguments `all`, with its own tile, [tile_variables][n + 6][n + 6][n + 6], and its
/// own parts, full3d_part_doubles for each box of 8^3 cells. Requires: `all` and the memory it refers to are accessible
/// to kernels.
template <class Arguments>
struct one_block {
  const Arguments* all = nullptr;
  double* tile = nullptr;
  double* parts = nullptr;  ///< of stage_arguments
  std::int32_t position = 0;
  std::int32_t groups = 1;          ///< of threads: boxes of 8^3 cells, for stage_arguments
  bool contact_steepening = false;  ///< hydro_parameters::contact_steepening of `all`, for stage_arguments
};

/// The arguments of a launch on this block alone. Also compiled for devices.
constexpr tiles_arguments arguments_of(const one_block<tiles_arguments>& b) {
  tiles_arguments a = *b.all;
  a.n_blocks = 1;
  a.tiles = b.tile;
  a.items += b.position, a.blocks += b.position, a.reports += b.position;
  return a;
}
constexpr stage_arguments arguments_of(const one_block<stage_arguments>& b) {
  stage_arguments a = *b.all;
  a.n_blocks = 1;
  a.tiles = b.tile, a.parts = b.parts;
  a.blocks += b.position, a.reports += b.position;
  return a;
}

using gather_item = one_block<tiles_arguments>;
using advance_item = one_block<stage_arguments>;

}  // namespace plx::star::device
