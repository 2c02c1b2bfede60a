// The cells of a state, for tests that measure what error norms do not: places of fronts, masses, symmetry.
//
// Thread safety: none. Cost: one pass over the cells. Example: tests/validation/classic_test.cpp
#pragma once

#include <functional>

#include "star/state/gas.hpp"

namespace plx::star::validation {

/// Calls f(u, x, y, z, width) for each cell; variable v is u[v * cells()].
void for_cells(const gas& g, const std::function<void(const double* u, double x, double y, double z, double width)>& f);

/// Are the two states, on a uniform mesh of one block along z, mirror images about the diagonal to the last bit?
bool symmetric_about_diagonal(const gas& g);

}  // namespace plx::star::validation
