// All parallel algorithms. A single family compiles faster: algorithm/sort.hpp, algorithm/reduce.hpp, ...
//
// Policies, exceptions, determinism: algorithm/policy.hpp. Thread safety and cost: each header. Example:
// examples/09_algorithms.cpp.
#pragma once

#include "rt/algorithm/count.hpp"
#include "rt/algorithm/for_each.hpp"
#include "rt/algorithm/for_loop.hpp"
#include "rt/algorithm/merge.hpp"
#include "rt/algorithm/partition.hpp"
#include "rt/algorithm/reduce.hpp"
#include "rt/algorithm/scan.hpp"
#include "rt/algorithm/search.hpp"
#include "rt/algorithm/sort.hpp"
#include "rt/algorithm/transform.hpp"
