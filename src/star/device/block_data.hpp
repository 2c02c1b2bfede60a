// A block of a launch on all blocks: what kernels of single blocks work on, where the step is made of a launch per
// block.
//
// Thread safety: values. Cost: 40 bytes per launch. Example: star/device/block_steps_test.cpp
#pragma once

#include <cstdint>

#include "star/device/step_data.hpp"

namespace plx::star::device {

/// The block at `position` of what `all` says, with a tile of its own, [tile_variables][n + 6][n + 6][n + 6], and parts
/// of its own, full3d_part_doubles for each box of 8^3 cells. Requires: `all` and what it names lie where kernels read.
template <class Arguments>
struct one_block {
  const Arguments* all = nullptr;
  double* tile = nullptr;
  double* parts = nullptr;  ///< of stage_arguments
  std::int32_t position = 0;
  std::int32_t groups = 1;          ///< of threads: boxes of 8^3 cells, for stage_arguments
  bool contact_steepening = false;  ///< hydro_parameters::contact_steepening of `all`, for stage_arguments
};

/// The same as arguments of a launch on one block. On devices, too.
constexpr tiles_arguments arguments_of(const one_block<tiles_arguments>& b) {
  tiles_arguments a = *b.all;
  a.n_blocks = 1;
  a.tiles = b.tile;
  a.items += b.position, a.reports += b.position;
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
