#pragma once

#include <vector>

/// Sorts each of the arrays, one at a time, from within a task of the library.
using sort_run = void(std::vector<std::vector<double>>& arrays);
