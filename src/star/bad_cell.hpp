// The cell that made a step fail. Example: star/stepper_test.cpp
#pragma once

#include "mesh/block_mesh.hpp"

namespace plx::star {

/// A cell whose state the floors could not repair.
struct bad_cell {
  mesh::slot_id slot = mesh::no_slot;
  int stage = 0;
  int cell = -1;                       ///< (k * n + j) * n + i
  double density = 0.0, energy = 0.0;  ///< before the step
};

}  // namespace plx::star
