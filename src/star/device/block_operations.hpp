// The operations of a step of the scheme full3d on single blocks: an item is a block, and a launch covers as many as it
// is given. The same bodies as those of whole meshes (operations.hpp), and the same bits.
//
// Thread safety: pure functions of their items; a launch function does not wait. Cost: the bodies'; a group of threads
// copies 0.4 KB of arguments first. The backend sycl has none of them. Example: star/device/block_steps.cpp
#pragma once

#include "gpu/operation.hpp"
#include "star/device/block_data.hpp"

namespace plx::star::device {

/// A block with all ghosts around it (tiles_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(gather_block, gather_item);
/// One Runge-Kutta stage of a block (full3d_body.hpp).
PLX_GPU_OPERATION_WITHOUT_SYCL(advance_block_stage, advance_item);

}  // namespace plx::star::device
