// The content of output series: slices and projections of the gas as images of uniform pixels, and radial profiles, the
// mean, smallest and largest values of variables over spherical shells.
//
// A pixel as wide as the cells of the chosen level has the value of the coarser cell that it lies in, or the mean of
// the finer ones. A projection is the integral of a variable along the axis, or its mean weighted by density. A cell
// belongs to the shell that holds its centre.
//
// Thread safety: between steps; all localities call these, each in a task. Cost: an image takes one pass over the
// cells, and a message of the part of each locality to all; the root paints. A profile takes about 50 ns per cell and
// variable, 560 bytes per shell, variable and worker. The bits are the same for any number of workers and localities.
// Errors: locality_lost, thrown. Example: star/output/series/test/series_test.cpp
#pragma once

#include <span>
#include <string>

#include "mesh/files/pixel_file.hpp"
#include "star/output/series/series_list.hpp"
#include "star/output/series/variables.hpp"

namespace plx::star {

/// Fills values, coordinates, axes, level, position and weight of the image; without values on other localities than
/// the root. Requires: the values of local blocks are on the host; a checked series of the kind slice or projection.
mesh::pixel_image paint(const series_options& s, std::span<const output_variable> variables, const gas& g,
                        const hydro_parameters& p);

/// The unit of a variable in such an image: times a length for an integral along the axis.
dimension unit_in_image(const series_options& s, const output_variable& v);

/// The table as CSV, by shell from inside: step, time, r_inner, r_outer, cells, volume, mass, and for each variable its
/// mean, smallest and largest value, NaN in a shell without cells. Requires: the values of local blocks are on the
/// host; a checked series of the kind profile.
std::string shell_table(const series_options& s, std::span<const output_variable> variables, const gas& g,
                        const hydro_parameters& p, unsigned workers, std::int64_t step, double time);

}  // namespace plx::star
