#pragma once

#include <vector>

/// The sums of the first 1, 2, 3, ... values, computed `repetitions` times from within a task of the library. Requires:
/// as many sums as values.
using scan_run = void(const std::vector<long>& values, std::vector<long>& sums, int repetitions);
