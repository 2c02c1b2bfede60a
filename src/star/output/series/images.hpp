// The content of output series: slices and projections of the gas as images of uniform pixels, and radial profiles, the
// mean, smallest and largest values of variables over spherical shells.
//
// A pixel as wide as the cells of the chosen level has the value of the coarser cell that it lies in, or the mean of
// the finer ones. A projection is the integral of a variable along the axis, or its mean weighted by density. A cell
// belongs to the shell that holds its centre.
//
// Thread safety: between steps; all localities call these, each in a task. Cost: an image takes one pass over the
// cells, and a message of the part of each locality to the root, which paints. A profile takes about 50 ns per cell and
// variable, 560 bytes per shell, variable and worker. The bits are the same for any number of workers and localities.
// Errors: locality_lost, thrown. Example: star/output/series/test/series_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "star/output/series/series_list.hpp"
#include "star/output/series/variables.hpp"

namespace plx::star {

/// An image of uniform pixels, the content of a file.
struct pixel_image {
  std::string kind;                 ///< "slice", "projection"
  std::string weight;               ///< of a projection
  std::array<std::string, 2> axes;  ///< names of the first and second axis of the image, such as "x" and "y"
  std::string normal;               ///< name of the other axis
  double position = 0.0;            ///< of a slice along it
  double time = 0.0;
  std::int64_t step = 0;
  int level = 0;                                      ///< whose cells are as wide as the pixels
  std::array<std::vector<double>, 2> edges, centres;  ///< along each axis
  std::vector<std::string> variables;
  std::vector<std::vector<double>> values;              ///< by variable: [second][first], code units
  std::vector<std::string> units;                       ///< by variable: in CGS, or "code"
  std::vector<double> factors;                          ///< by variable: a value times this is in that unit
  std::vector<std::pair<std::string, double>> numbers;  ///< further attributes
  bool single_precision = true;
};

/// Writes HDF5: one dataset [second axis][first axis] per variable, the coordinates of the pixels' centres and edges,
/// and attributes. Readers: h5py, or python/parallax/star/pixels.py. Thread safety: any task; files are written one
/// after the other. Cost: the disk. Errors: one line with the path and the system's reason.
result<void> write_pixel_file(const std::string& path, const pixel_image& image);

/// Fills values, coordinates, axes, level, position and weight of the image; without values on other localities than
/// the root. Requires: the values of local blocks are on the host; a checked series of the kind slice or projection;
/// `gravity` as in fill_variables().
pixel_image paint(const series_options& s, std::span<const output_variable> variables, const gas& g,
                  const hydro_parameters& p, const gravity_field* gravity = nullptr);

/// The unit of a variable in such an image: times a length for an integral along the axis.
dimension unit_in_image(const series_options& s, const output_variable& v);

/// The table as CSV, by shell from inside: step, time, r_inner, r_outer, cells, volume, mass, and for each variable its
/// mean, smallest and largest value, NaN in a shell without cells. Requires: the values of local blocks are on the
/// host; a checked series of the kind profile; `gravity` as in fill_variables().
std::string shell_table(const series_options& s, std::span<const output_variable> variables, const gas& g,
                        const hydro_parameters& p, unsigned workers, std::int64_t step, double time,
                        const gravity_field* gravity = nullptr);

}  // namespace plx::star
