// Files of slices and projections: HDF5, with one dataset [second axis][first axis] per variable, the coordinates of
// the pixels' centres and edges, and attributes. Readers: h5py, or python/parallax/star/pixels.py.
//
// Thread safety: any task; files are written one after the other. Cost: the disk. Errors: one line with the path and
// the system's reason. Example: star/output/series/test/series_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace plx::mesh {

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

result<void> write_pixel_file(const std::string& path, const pixel_image& image);

}  // namespace plx::mesh
