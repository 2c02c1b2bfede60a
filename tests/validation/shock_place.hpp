// Where the shock of a blast wave about the origin is.
//
// Thread safety: reads only. Cost: a look at every cell. Example: tests/validation/blast_test.cpp
#pragma once

#include <string>

#include "harness.hpp"

namespace plx::star::validation {

/// Which cells count: all, those near an axis, those near a diagonal of the box.
enum class cone { all, axis, diagonal };

/// Where the mean pressure of shells falls most steeply, between shells by the parabola through three slopes.
double shock_radius(const solved& s, cone which);

/// Rows about the shock's place: its relative error at most `bound`, the same along axis and diagonal.
void check_shock(table& t, const std::string& what, const solved& s, double bound);

}  // namespace plx::star::validation
