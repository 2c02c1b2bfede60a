#pragma once

#include <vector>

/// The sum of the values.
using reduce_run = double(const std::vector<double>&);
