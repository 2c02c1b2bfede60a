// The outcome of a step, and the exchange at its end by which all localities know it.
//
// Thread safety: agree_on_step() by a task on all localities. Cost: one all_reduce of a few numbers and of the exact
// sums that are not empty. Errors: locality_lost, thrown. Example: star/runners/stepper.cpp
#pragma once

#include <array>
#include <optional>
#include <span>

#include "star/state/gas.hpp"

namespace plx {
class exact_sum;
}

namespace plx::star {

/// A cell whose state the floors could not repair.
struct bad_cell {
  mesh::slot_id slot = mesh::no_slot;
  int stage = 0;
  int cell = -1;                       ///< (k * n + j) * n + i
  double density = 0.0, energy = 0.0;  ///< before the step
};

struct step_account {
  double signal_rate = 0.0;         ///< the largest
  std::array<double, 3> floors{};   ///< density, pressure, input
  double wishes = 0.0;              ///< bits
  std::array<double, 5> bad{-1.0};  ///< stage or -1, position on the curve, cell, density, energy
  double failed = 0.0;              ///< 1 + the first locality whose device has failed

  void take(const floor_counts& f) { floors = {double(f.density), double(f.pressure), double(f.input)}; }
  floor_counts floors_found() const {
    return {std::int64_t(floors[0]), std::int64_t(floors[1]), std::int64_t(floors[2])};
  }
  bool is_bad() const { return bad[0] >= 0.0; }
  void take(const gas& g, const bad_cell& b) {
    bad = {double(b.stage), double(g.mesh.position(b.slot)), double(b.cell), b.density, b.energy};
  }
  std::optional<bad_cell> bad_found(const gas& g) const;
};

/// The account of the whole step, the same on all localities. It has the first bad cell in the order of
/// stages, then of the curve. `left`: outflow by face and variable; on return, of all localities.
step_account agree_on_step(step::exchange& net, const step_account& mine, std::span<exact_sum> left);

}  // namespace plx::star
