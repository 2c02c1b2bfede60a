#pragma once

#include <vector>

/// The sum of the values, computed `repetitions` times from within a task of the library; returns the sum of the sums.
using reduce_run = double(const std::vector<double>&, int repetitions);
