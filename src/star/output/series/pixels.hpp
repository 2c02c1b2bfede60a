// Slices and projections of the gas as images of uniform pixels.
//
// A pixel as wide as the cells of the chosen level has the value of the coarser cell that it lies in, or the mean of
// the finer ones. A projection is the integral of a variable along the axis, or its mean weighted by density.
//
// Thread safety: between steps; all localities call it, each in a task. Cost: one pass over the cells, and a message of
// the part of each locality to all; the root paints. The blocks are added in the order of the curve, so the image has
// the same bits for any number of workers and localities. Errors: locality_lost, thrown. Example:
// star/output/series/test/series_test.cpp
#pragma once

#include "mesh/files/pixel_file.hpp"
#include "star/output/series/series_options.hpp"
#include "star/output/series/variables.hpp"

namespace plx::star {

/// Fills values, coordinates, axes, level, position and weight of the image; without values on other localities than
/// the root. Requires: the values of local blocks are on the host; a checked series of the kind slice or projection.
mesh::pixel_image paint(const series_options& s, std::span<const output_variable> variables, const gas& g,
                        const hydro_parameters& p);

/// The unit of a variable in such an image: times a length for an integral along the axis.
dimension unit_in_image(const series_options& s, const output_variable& v);

}  // namespace plx::star
