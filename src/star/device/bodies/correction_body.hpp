// Flux correction as a body: where a neighbour across a face is finer, its fluxes replace the block's own. A group
// handles one such block. It computes what mesh/field/face_fluxes.cpp and stepper::correct() compute.
//
// Phase 0 adds the differences to the cells along those faces, in one symmetric sum per cell. Phases 1 to 6 apply
// floors and the entropy tracer again to the cells along face 0, 1, ...
//
// Thread safety: as bodies. Cost: some 300 operations per cell of such a face.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include "star/device/bodies/block_cell.hpp"
#include "star/device/bodies/body.hpp"
#include "star/device/bodies/level_cell.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

template <class Eos>
struct correction_body {
  using arguments = device::correction_arguments;
  static constexpr int threads = 128, phases = 7, groups_per_unit = 2;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_items; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    if (a.control->stopped != 0) return;
    const device::correction_item& item = a.items[group];
    if constexpr (phase == 0) {
      for (int f = 0; f < 6; ++f)
        if ((item.finer >> f & 1) != 0) apply(a, item, f, thread);
    } else {
      if ((item.finer >> (phase - 1) & 1) != 0) settle_face(a, item, phase - 1, thread);
    }
  }

  PLX_INLINE static int lower_tangent(int axis) { return axis == 0 ? 1 : 0; }
  PLX_INLINE static int upper_tangent(int axis) { return axis == 2 ? 1 : 2; }

  /// Own flux minus the finer ones' at upper faces, the opposite at lower ones.
  PLX_INLINE static double term(const arguments& a, const device::correction_item& item, int face, int v,
                                const int (&cell)[3]) {
    const int n = a.n, half = n / 2, axis = face / 2;
    const int s = cell[lower_tangent(axis)], t = cell[upper_tangent(axis)];
    const double own = a.fluxes[a.blocks[item.position].flux[face] + (static_cast<std::ptrdiff_t>(v) * n + t) * n + s];
    const int child = (s >= half ? 1 : 0) | (t >= half ? 2 : 0);
    const int fine_s = 2 * (s % half), fine_t = 2 * (t % half);
    const double* f = a.fluxes + item.fine[face][child] + (static_cast<std::ptrdiff_t>(v) * n + fine_t) * n + fine_s;
    const double fine = 0.25 * ((f[0] + f[n + 1]) + (f[1] + f[n]));
    return face % 2 != 0 ? own - fine : fine - own;
  }

  /// The corrected face along an axis at which the cell is, or -1.
  PLX_INLINE static int active_face(const arguments& a, const device::correction_item& item, int axis, int at) {
    if (at == 0 && (item.finer >> (2 * axis) & 1) != 0) return 2 * axis;
    if (at == a.n - 1 && (item.finer >> (2 * axis + 1) & 1) != 0) return 2 * axis + 1;
    return -1;
  }

  // A cell at an edge or corner may be at two or three such faces: the one along the lowest axis handles it.
  PLX_INLINE static void apply(const arguments& a, const device::correction_item& item, int face, int thread) {
    const device::block_item& block = a.blocks[item.position];
    const int n = a.n, axis = face / 2, ta = lower_tangent(axis), tb = upper_tangent(axis);
    const std::ptrdiff_t volume = static_cast<std::ptrdiff_t>(n) * n * n;
    const double weight = a.weight * a.control->dt / block.place.dx;
    for (int e = thread; e < n * n; e += threads) {
      const int s = e % n, t = e / n, end = face % 2 != 0 ? n - 1 : 0;
      const int cell[3] = {axis == 0 ? end : s, axis == 1 ? end : axis == 0 ? s : t, axis == 2 ? end : t};
      const int fa = active_face(a, item, ta, cell[ta]), fb = active_face(a, item, tb, cell[tb]);
      if ((fa >= 0 && ta < axis) || (fb >= 0 && tb < axis)) continue;
      double* u = a.target + block.values + (cell[2] * n + cell[1]) * n + cell[0];
      for (int v = 0; v < variable_count(a.hydro); ++v)
        u[v * volume] += weight * sum_of_axes(term(a, item, face, v, cell), fa >= 0 ? term(a, item, fa, v, cell) : 0.0,
                                              fb >= 0 ? term(a, item, fb, v, cell) : 0.0);
    }
  }

  PLX_INLINE static void settle_face(const arguments& a, const device::correction_item& item, int face, int thread) {
    const device::block_item& block = a.blocks[item.position];
    const int n = a.n, axis = face / 2, end = face % 2 != 0 ? n - 1 : 0;
    const std::ptrdiff_t volume = static_cast<std::ptrdiff_t>(n) * n * n;
    tally sums;
    for (int e = thread; e < n * n; e += threads) {
      const int s = e % n, t = e / n;
      const int x = axis == 0 ? end : s, y = axis == 1 ? end : axis == 0 ? s : t, z = axis == 2 ? end : t;
      const int cell = (z * n + y) * n + x;
      settle_stored<Eos>(
          a.hydro, a.target + block.values + cell, volume, cell,
          [&](int along) { return block.place.centre(along, along == 0 ? x : y); }, sums);
    }
    report_cells(a.reports[item.position], a.last, a.stage, 1 + face, sums);
  }
};

/// Outflow through the domain boundaries in a stage: a thread per face of a block and variable, which sums in the order
/// of side_totals::add().
struct side_body {
  using arguments = device::side_arguments;
  static constexpr int threads = 64, phases = 1, groups_per_unit = 8;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return (a.n_items * a.n_var + threads - 1) / threads; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    const int e = group * threads + thread;
    if (a.control->stopped != 0 || e >= a.n_items * a.n_var) return;
    const device::side_item& item = a.items[e / a.n_var];
    const int cells = a.n * a.n;
    const double* flux = a.fluxes + item.flux + static_cast<std::ptrdiff_t>(e % a.n_var) * cells;
    double sum = 0.0;
    for (int i = 0; i < cells; ++i) sum += flux[i];
    const double weight = a.control->dt * a.flux_weight;
    const double scale = (item.sign > 0.0 ? weight : -weight) * item.dx * item.dx;
    double* part = a.parts + (a.control->now.steps % a.steps_kept) * a.n_items * a.n_var + e;
    *part = (a.first ? 0.0 : *part) + scale * sum;
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
