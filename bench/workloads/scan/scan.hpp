#pragma once

#include <vector>

/// The prefix sums of the values, computed `repetitions` times from within a task of the library. Requires: as many
/// sums as values.
using scan_run = void(const std::vector<long>& values, std::vector<long>& sums, int repetitions);
