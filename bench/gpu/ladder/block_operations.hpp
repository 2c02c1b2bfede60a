// The operations of a step of the scheme full3d on single blocks: an item is a block, and a launch covers any number of
// items. The bodies are those of whole meshes (operations.hpp), and give the same bits.
//
// Thread safety: pure functions of their items; a launch function does not wait. Cost: that of the bodies; a thread
// block first copies 0.4 KB of arguments. The backend sycl has none of these operations. Example:
// bench/gpu/ladder/block_steps.cpp
#pragma once

#include "block_data.hpp"
#include "gpu/operation.hpp"

namespace plx::star::device {

/// A block with all its ghost cells (ghosts_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(gather_block, gather_item);
/// One Runge-Kutta stage of a block (full3d_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(advance_block_stage, advance_item);

}  // namespace plx::star::device
