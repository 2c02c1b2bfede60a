#pragma once

#include <vector>

/// Sorts the values.
using sort_run = void(std::vector<double>&);
