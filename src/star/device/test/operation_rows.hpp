// The rows of the step's operations in the table of operations (gpu/testing/operation_table.hpp).
//
// Thread safety: pure. Cost: shapes that are checked have at most some 50 blocks, those that are timed 2 million cells.
// Example: tests/gpu/operations_test.cpp
#pragma once

#include <vector>

#include "gpu/testing/operation_table.hpp"

namespace plx::star::device {

std::vector<gpu::testing::operation_row> operation_rows();

}  // namespace plx::star::device
