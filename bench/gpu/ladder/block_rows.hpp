// The rows of the operations of single blocks in the table of operations (gpu/testing/operation_table.hpp).
//
// Thread safety: pure. Cost: as star/device/test/operation_rows.hpp. Example: tests/gpu/operations_test.cpp
#pragma once

#include <vector>

#include "gpu/testing/operation_table.hpp"

namespace plx::star::device {

std::vector<gpu::testing::operation_row> block_rows();

}  // namespace plx::star::device
