// Position of the shock of a blast wave around the origin.
//
// Thread safety: reads only. Cost: one pass over all cells. Example: tests/validation/blast_test.cpp
#pragma once

#include <string>

#include "harness.hpp"

namespace plx::star::validation {

/// Which cells are used: all, those near an axis, or those near a diagonal of the box.
enum class cone { all, axis, diagonal };

/// The radius at which the mean pressure of shells falls most steeply, interpolated by a parabola through three slopes.
double shock_radius(const solved& s, cone which);

/// Adds rows for the position of the shock: its relative error, at most `bound`, and that it is the same along axis and
/// diagonal.
void check_shock(table& t, const std::string& what, const solved& s, double bound);

}  // namespace plx::star::validation
