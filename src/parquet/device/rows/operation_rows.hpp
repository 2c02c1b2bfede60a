// The rows of the parquet operations in the table of operations (gpu/testing/operation_table.hpp).
//
// Thread safety: pure. Cost: shapes that are timed take up to 1 GB. Example: tests/gpu/operations_test.cpp
#pragma once

#include <vector>

#include "gpu/testing/operation_table.hpp"

namespace plx::parquet::device {

std::vector<gpu::testing::operation_row> operation_rows();

}  // namespace plx::parquet::device
