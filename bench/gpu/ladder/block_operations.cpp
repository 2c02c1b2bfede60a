#include "block_operations.hpp"

#include "star/device/operations.hpp"

namespace plx::star::device {

void gather_block_cpu(const gather_item& b) { gather_tiles_cpu(arguments_of(b)); }
void advance_block_stage_cpu(const advance_item& b) { advance_stage_cpu(arguments_of(b)); }

}  // namespace plx::star::device
