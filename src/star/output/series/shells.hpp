// Radial profiles: mean, smallest and largest values of variables over spherical shells.
//
// A cell belongs to the shell that holds its centre. Sums are exact, so the table has the same bits for any number of
// workers and localities.
//
// Thread safety: between steps; all localities call it, each in a task. Cost: about 50 ns per cell and variable, 560
// bytes per shell, variable and worker. Errors: locality_lost, thrown.
// Example: star/output/series/test/series_test.cpp
#pragma once

#include <span>
#include <string>

#include "star/output/series/series_options.hpp"
#include "star/output/series/variables.hpp"

namespace plx::star {

/// The table as CSV, by shell from inside: step, time, r_inner, r_outer, cells, volume, mass, and for each variable its
/// mean, smallest and largest value, NaN in a shell without cells. Requires: the values of local blocks are on the
/// host; a checked series of the kind profile.
std::string shell_table(const series_options& s, std::span<const output_variable> variables, const gas& g,
                        const hydro_parameters& p, unsigned workers, std::int64_t step, double time);

}  // namespace plx::star
