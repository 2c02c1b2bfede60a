// The light of a run as seen from afar, as rows of light_curve.csv: for observers along the axes of the mesh, the
// luminosity, the area of the photosphere, and its effective temperature. docs/methods.md has the formulas.
//
// Each ray is parallel to an axis and as narrow as the finest cells that it meets. The gas absorbs by one opacity and
// emits as a black body of its own temperature; rays do not scatter, and light takes no time.
//
// Thread safety: all localities call row(), each in a task. Cost: for each axis a pass over all cells with three
// exponentials per cell, and a message of 24 bytes per column of cells of each block to the root, which holds them all
// (1.5 kB per block of 8 cells along an edge) and follows the rays with its workers. Rows are the same for any number
// of workers and localities, with a device, and after a restart. Errors: locality_lost, thrown. Example:
// star/diagnostics/test/light_curve_test.cpp
#pragma once

#include <string>
#include <vector>

#include "star/diagnostics/table_column.hpp"
#include "star/driver/options.hpp"

namespace plx::star {

struct gas;

class light_curve {
 public:
  /// Requires: the arguments outlive it; checked options; s.kelvin > 0.
  light_curve(const gas& g, const light_curve_options& options, const setup& s);

  /// Values are in their units: CGS and kelvin.
  const std::vector<table_column>& columns() const { return columns_; }
  /// The numbers of the columns for the present state; on other localities than the root none.
  /// Requires: the values of local blocks are on the host.
  std::vector<double> row() const;

 private:
  const gas& g_;
  const light_curve_options& o_;
  const setup& setup_;
  std::vector<table_column> columns_;
};

}  // namespace plx::star
