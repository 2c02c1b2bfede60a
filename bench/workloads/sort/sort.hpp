#pragma once

#include <vector>

/// Sorts each of the arrays, one after the other, from within a task of the library.
using sort_run = void(std::vector<std::vector<double>>& arrays);
