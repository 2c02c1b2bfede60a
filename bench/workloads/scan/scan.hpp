#pragma once

#include <vector>

/// The sums of the first 1, 2, 3, ... values. Requires: as many results as values.
using scan_run = void(const std::vector<long>&, std::vector<long>&);
