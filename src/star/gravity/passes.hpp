// Self-gravity by the fast multipole method, as passes over the tree (star/step/portable_pass.hpp); pass_kind lists
// them in order.
//
// A refined node is a lattice of n^3 cells, each the parent of eight cells below. On workers and on devices the bits
// are the same.
//
// Thread safety: pure functions of the view. Cost: docs/plx-star.md, section Self-gravity.
// Example: star/test/gravity_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "star/gravity/lattice.hpp"
#include "star/step/portable_pass.hpp"

namespace plx::gpu {
struct launch;
}

namespace plx::star::gravity {

/// The fields and the table of the module, as indices in a pass_view.
struct layout {
  int order = 5;
  int reach = 5, near = 2;  ///< lattice_table
  int masses = 0;           ///< blocks: [n^3]; periodic: without those of the mean density
  int moments = 0;          ///< refined: [count_up_to(order)][n^3]
  int locals = 0;           ///< refined: the same
  int results = 0;          ///< blocks: [4][n^3]: potential, then acceleration
  int sums = 0;             ///< all: node_sum_count doubles
  int correction = 0;       ///< all: correction_count doubles
  int potential = 0;        ///< blocks: [n^3], for neighbours
  int around = 0;           ///< blocks: stage_input::potential
  int work = 0;             ///< blocks: stage_output::work
  int change = 0;           ///< blocks: [2][n^3]: potential at the start of the step; sum of potential times change of
                            ///< density, weighted as the stages
  int energy = 0;           ///< blocks: 2 doubles, the module's sums: at the start of the step and at its end
  int table = 0;            ///< lattice_table::values
  double constant = 1.0;    ///< G, code units
  double omega = 0.0;       ///< hydro_parameters::omega
  // For periodic boxes (images.hpp); isolated: top_width 0.
  double top_width = 0.0;          ///< of a cell of the top
  double lower[3] = {};            ///< corner of the box
  std::int32_t top_cells[3] = {};  ///< of the box
  int top_reach = 0;
  int images = 0;         ///< box_images::values, a table
  int totals = 0;         ///< all: total_count doubles
  int mean = 0;           ///< all: mean_count doubles
  bool may_skip = false;  ///< does nothing if the fields still hold what it would compute (pass_view::carried)
  bool at_end = false;    ///< a pass after the last stage

  PLX_DEVICE bool periodic() const { return top_width > 0.0; }
};

/// The part of a cell's own mass m in its potential is -own_part G m / dx. Sums over the centres of a lattice miss
/// 2.8373 G rho dx^2 of the potential of a smooth density (the potential of a lattice of charges in a uniform
/// background) and a third of its gradient. This is the difference, with which the potential has the gradient that the
/// sums of forces give: the work of gravity on flowing mass is then that of the forces, to the order of the scheme.
inline constexpr double own_part = 2.0 / 3.0 * 2.837297479480619;

/// Sums over the cells below a node: m; m x; m x_a x_b (xx, xy, xz, yy, yz, zz); force; torque about the origin.
inline constexpr int node_sum_count = 16;
/// a(x) = u + w x (x - c): u, w, c.
inline constexpr int correction_count = 9;

/// Sums over the cells below a node of a periodic box: mass m; m |b|^2; volume times |b|^2, where b leads from the
/// centre of the cell of the top that contains the cell, in cells of the top.
inline constexpr int total_count = 3;
/// The mean density of a periodic box, and the sum of m |b|^2 without that density.
inline constexpr int mean_count = 2;

enum class pass_kind {
  totals,         ///< periodic, all: sums over the cells below a node, for the next pass
  mean,           ///< periodic, all: the mean density of the box
  masses,         ///< blocks: the masses of cells, from the density of the stage
  moments,        ///< refined: the moments of cells, from those of their eight children
  interactions,   ///< refined: local expansions of cells, from far partners on the same level; at the top of a periodic
                  ///< box from all cells and their images
  translations,   ///< refined: adds the local expansions of parents
  accelerations,  ///< blocks: potential and acceleration, from the parents' expansions and nearby cells
  energy,         ///< blocks: half the sum of mass times potential, for history.csv
  around,         ///< blocks: the potential of the block and of two layers around it
  node_sums,      ///< all: sums over the cells below a node, for the next pass
  corrections,    ///< all: an acceleration that makes total force and torque zero to rounding; periodic: total force
  source,         ///< blocks: momentum and energy
  balance         ///< blocks: at the end of the step, energy, so that the total with the potential is conserved
};

/// The name of its tasks in profiles.
constexpr const char* name_of(pass_kind kind) {
  constexpr const char* names[] = {
      "star.gravity.totals",       "star.gravity.mean",         "star.gravity.masses",        "star.gravity.moments",
      "star.gravity.interactions", "star.gravity.translations", "star.gravity.accelerations", "star.gravity.energy",
      "star.gravity.around",       "star.gravity.node_sums",    "star.gravity.corrections",   "star.gravity.source",
      "star.gravity.balance"};
  return names[static_cast<int>(kind)];
}

/// The code of a pass. Requires: an order that make_lattice() accepts.
std::unique_ptr<portable_code> make_pass(pass_kind kind, const layout& l);

// ---- One struct for all passes of gravity, shared by the code for workers (passes.cpp) and for devices (passes.cu).
//
// Cost: none.

/// Threads of a node on a device. Those of node_sums and totals compute one sum each, those of energy, corrections and
/// mean all numbers.
constexpr int threads_of(pass_kind kind) {
  if (kind == pass_kind::node_sums) return node_sum_count;
  if (kind == pass_kind::totals) return total_count;
  return kind == pass_kind::corrections || kind == pass_kind::energy || kind == pass_kind::mean ? 1 : 128;
}

/// The bytes of the masses of a block of n^3 cells and of what is within `reach` of it, which the threads of a node
/// share on a device; 0 if the pass does without, or they are more than a thread block can have with others beside it.
constexpr std::size_t tile_bytes(pass_kind kind, int n, int reach) {
  const auto edge = static_cast<std::size_t>(n + 2 * reach);
  const std::size_t bytes = edge * edge * edge * sizeof(double);
#if defined(__HIPCC__)
  constexpr std::size_t most = std::size_t{64} << 10;
#else
  constexpr std::size_t most = std::size_t{100} << 10;
#endif
  return kind == pass_kind::accelerations && bytes <= most ? bytes : 0;
}

/// `order`: of expansions; 0 for passes that have none.
template <pass_kind kind, int order>
struct pass {
  static constexpr const char* name = name_of(kind);
  static constexpr int threads = threads_of(kind);
  layout l;

  void operator()(const pass_view& v, std::int32_t node, int thread) const;
  void on_worker(const pass_view& v, std::int32_t node) const;
  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

}  // namespace plx::star::gravity
